"""One HTTP request, which ends in time whatever the other side does."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from flowprism import __version__

_MOST_SAID_BYTES = 2000  # of a refusal; it is kept with the alert
_LONGEST_WAIT_S = 3600.0  # that a receiver may ask for


class NotDeliveredError(Exception):
    """A message was not accepted, or a question not answered; the text says why, and holds no secret of ours.

    Attributes:
        wait_s: how long the receiver asks to be left alone; 0 where it does not say.
    """

    def __init__(self, problem: str, wait_s: float = 0.0) -> None:
        super().__init__(problem)
        self.wait_s = wait_s


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> None:
    """Deliver a body. Only an answer of 2xx counts; redirections are not followed, they would take secrets elsewhere.

    Proxies are those of the environment (`https_proxy`, `no_proxy`).

    Args:
        url: http or https.
        body: what to deliver.
        headers: in addition to the usual ones.
        timeout_s: for all of it; an answer that comes byte by byte does not last longer.

    Raises:
        NotDeliveredError: no connection, no answer in time, or another answer.
    """
    with _answer("POST", url, body, headers, timeout_s):
        pass


def get(url: str, headers: Mapping[str, str], timeout_s: float, most_bytes: int) -> bytes:
    """Ask a question; the rules are those of `post`.

    Args:
        url: http or https.
        headers: in addition to the usual ones.
        timeout_s: for all of it.
        most_bytes: that an answer may have.

    Returns:
        The answer's body.

    Raises:
        NotDeliveredError: no connection, no answer in time, too long a one, or another than 2xx.
    """
    with _answer("GET", url, None, headers, timeout_s) as answer:
        body = answer.read(most_bytes + 1)
    if len(body) > most_bytes:
        raise NotDeliveredError(f"the answer is longer than {most_bytes >> 20} MiB")
    return body


@contextmanager
def _answer(
    method: str, url: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float
) -> Iterator[http.client.HTTPResponse]:
    parts = urlsplit(url)
    said = {"User-Agent": f"flowprism/{__version__}", "Connection": "close", **headers}
    connection, target = _connection(parts, timeout_s)
    try:
        with _deadline(connection, timeout_s):
            connection.request(method, target, body, said)
            with connection.getresponse() as answer:
                _judge(answer)
                yield answer
    except TimeoutError:
        raise NotDeliveredError(f"no answer within {timeout_s:.3g} s") from None
    except http.client.RemoteDisconnected:
        raise NotDeliveredError("the connection was closed without an answer") from None
    except http.client.HTTPException as error:
        raise NotDeliveredError(f"what came is no answer of HTTP ({type(error).__name__})") from None
    except OSError as error:
        traceback.clear_frames(error.__traceback__)  # of a proxy that refuses, one holds what it said, and the socket
        raise NotDeliveredError(_cause(error)) from None
    finally:
        connection.close()


def _connection(parts: SplitResult, timeout_s: float) -> tuple[http.client.HTTPConnection, str]:
    """A connection, not yet made, and what to ask for over it."""
    host, target = str(parts.hostname), (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    proxy = None if proxy_bypass(host) else getproxies().get(parts.scheme)
    by_tls = parts.scheme == "https"
    if not proxy:
        if by_tls:
            secure = ssl.create_default_context()
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=secure), target
        return http.client.HTTPConnection(host, parts.port, timeout=timeout_s), target
    by = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    if by_tls:
        tunnel = http.client.HTTPSConnection(str(by.hostname), by.port, timeout=timeout_s)
        tunnel.set_tunnel(host, parts.port)
        return tunnel, target
    return http.client.HTTPConnection(str(by.hostname), by.port, timeout=timeout_s), parts.geturl()


@contextmanager
def _deadline(connection: http.client.HTTPConnection, timeout_s: float) -> Iterator[None]:
    """Cut the connection when the time is over; timeouts of a socket restart with every byte.

    Raises:
        TimeoutError: it was cut.
    """
    over = threading.Event()

    def cut() -> None:
        over.set()
        with suppress(OSError, AttributeError):  # nothing to cut: not connected yet, or not any more
            connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(timeout_s, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not over.is_set():
            raise
    finally:
        timer.cancel()
    if over.is_set():
        raise TimeoutError


def _judge(answer: http.client.HTTPResponse) -> None:
    if 200 <= answer.status < 300:
        return
    said = f"{answer.status} {answer.reason}".strip()
    if 300 <= answer.status < 400:
        raise NotDeliveredError(f"{said}: redirections are not followed")
    with suppress(http.client.HTTPException, OSError):
        text = answer.read(_MOST_SAID_BYTES).decode(errors="replace")
        said = f"{said}: {' '.join(text.split())}" if text.strip() else said
    raise NotDeliveredError(said, _wait_s(answer.headers.get("Retry-After", "")))


def _wait_s(said: str) -> float:
    """Seconds that `Retry-After` asks for; a date, which few send, counts as nothing said."""
    return min(float(said), _LONGEST_WAIT_S) if said.isascii() and said.isdigit() else 0.0


def _cause(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    return error.strerror or str(error) or type(error).__name__
