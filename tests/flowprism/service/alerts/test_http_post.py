"""Only an answer of 2xx counts, and nothing lasts longer than it may."""

from __future__ import annotations

import gc
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from flowprism.service.alerts.http_post import NotDeliveredError, get, post
from tests.flowprism.service.alerts.listening import Answer, listening, silent, trickling

QUICK_S = 0.4
PATIENCE_S = 30.0  # half of what a silent server takes to hang up


def refusal(url: str, timeout_s: float = PATIENCE_S) -> NotDeliveredError:
    """Why it is not accepted there."""
    with pytest.raises(NotDeliveredError) as refused:
        post(url, b"{}", {}, timeout_s)
    return refused.value


def test_what_is_accepted_came_as_it_was_sent() -> None:
    """Path, query, headers and body."""
    with listening() as server:
        post(f"{server.url}/a/b?c=d", b"caf\xc3\xa9", {"X-Y": "z"}, PATIENCE_S)
        (came,) = server.wait(1)
    assert (came.method, came.path, came.body, came.headers["x-y"]) == ("POST", "/a/b?c=d", b"caf\xc3\xa9", "z")
    assert came.headers["user-agent"].startswith("flowprism/")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 500 Oh No\r\n\r\nthe  disk\nis full", "500 Oh No: the disk is full"),
        (b"HTTP/1.1 401 Unauthorized\r\n\r\n", "401 Unauthorized"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n", "302 Found: redirections are not followed"),
        (b"", "the connection was closed without an answer"),
        (b"hello\r\n", "what came is no answer of HTTP (BadStatusLine)"),
        (b"HTTP/1.1 999999 OK\r\n\r\n", "what came is no answer of HTTP (BadStatusLine)"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, "what came is no answer of HTTP (LineTooLong)"),
    ],
)
def test_what_is_no_2xx_is_not_accepted(answer: Answer, problem: str) -> None:
    """Refusals, redirections, lines without end and what is no HTTP: each is told as what it is."""
    with listening(answer) as server:
        assert str(refusal(server.url)) == problem


@pytest.mark.parametrize("answer", [silent, trickling])
def test_what_takes_too_long_is_no_answer(answer: Answer) -> None:
    """Neither a server that says nothing nor one whose answer does not end is waited for to its end."""
    with listening(answer) as server:
        begun_s = time.monotonic()
        assert str(refusal(server.url, QUICK_S)) == f"no answer within {QUICK_S} s"
        assert time.monotonic() - begun_s < PATIENCE_S


def test_a_refusal_without_end_is_cut() -> None:
    """Of what a receiver says only the beginning is kept."""
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"x" * 1_000_000) as server:
        assert len(str(refusal(server.url))) < 2100


def test_nobody_there() -> None:
    """A port that nobody listens on, and a name that does not exist."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    assert str(refusal(f"http://127.0.0.1:{port}/")) == "Connection refused"
    assert "ame" in str(refusal("http://nobody.invalid/"))


def test_an_answer_of_2xx_counts_whatever_follows_it() -> None:
    """A body that is shorter than announced, or none, changes nothing: it was accepted."""
    with listening(b"HTTP/1.1 202 Accepted\r\nContent-Length: 50\r\n\r\nshort") as server:
        post(server.url, b"{}", {}, PATIENCE_S)


@pytest.mark.parametrize(("said", "wait_s"), [("7", 7.0), ("999999", 3600.0), ("Fri, 01 Jan", 0.0), ("-1", 0.0)])
def test_a_receiver_may_ask_to_be_left_alone(said: str, wait_s: float) -> None:
    """For some seconds, an hour at most."""
    with listening(f"HTTP/1.1 429 Too Many\r\nRetry-After: {said}\r\n\r\n".encode()) as server:
        assert refusal(server.url).wait_s == wait_s


def test_plain_http_is_not_taken_for_tls() -> None:
    """A server without TLS, asked for https."""
    with listening() as server:
        assert str(refusal(server.url.replace("http", "https"), QUICK_S))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate that nobody knows, for 127.0.0.1, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine")
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1"]
    subprocess.run([*command, "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def test_certificates_are_checked(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody vouches for is refused; one that the environment names is accepted."""
    with listening(certificate=certificate) as server:
        url = server.url.replace("http", "https")
        assert "its certificate is not trusted" in str(refusal(url))
        assert server.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        post(url, b"secret", {}, PATIENCE_S)
        assert [one.body for one in server.wait(1)] == [b"secret"]
        with pytest.raises(NotDeliveredError, match="not trusted"):
            post(url.replace("127.0.0.1", "localhost"), b"secret", {}, PATIENCE_S)


def test_a_proxy_does_not_see_what_goes_by_tls(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for a tunnel only; one that refuses is told of."""
    with listening(b"HTTP/1.1 407 Who Are You\r\n\r\n") as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        assert "407 Who Are You" in str(refusal("https://far.invalid/secret"))
        gc.collect()  # nothing is left open
        (came,) = proxy.wait(1)
    assert (came.method, came.path, came.body) == ("CONNECT", "far.invalid:443", b"")


def test_proxies_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy gets the whole address; for hosts of `no_proxy` it is not asked."""
    with listening() as proxy, listening() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        post(f"{server.url}/direct", b"", {}, PATIENCE_S)
        post("http://far.invalid/x", b"", {}, PATIENCE_S)
        assert [one.path for one in server.wait(1)] == ["/direct"]
        assert [one.path for one in proxy.wait(1)] == ["http://far.invalid/x"]


def test_a_question_has_its_answer_and_no_more_than_may_be() -> None:
    """The body as it came; one that is too long is refused."""
    with listening(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100) as server:
        assert get(f"{server.url}/q", {"A": "b"}, PATIENCE_S, 100) == b"x" * 100
        with pytest.raises(NotDeliveredError, match="longer than"):
            get(server.url, {}, PATIENCE_S, 99)
        assert (server.requests[0].method, server.requests[0].headers["a"]) == ("GET", "b")
