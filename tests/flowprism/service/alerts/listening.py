"""Real HTTP servers on loopback: obliging ones, failing ones, slow ones, and ones that lie."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OK = b"HTTP/1.1 204 No Content\r\n\r\n"
Answer = bytes | Callable[[socket.socket], None]


@dataclass
class Request:
    """What came, and what it is answered."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    answer: Answer

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was sent
        """Its body."""
        return json.loads(self.body)


@dataclass
class Server:
    """A server that answers what it is told to: to the nth request the nth answer, the last one from then on."""

    port: int
    requests: list[Request] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def wait(self, count: int, seconds: float = 60.0) -> list[Request]:
        """The requests, when so many have come."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.requests) >= count, seconds), f"{len(self.requests)} came"
            return list(self.requests)


@contextlib.contextmanager
def listening(*answers: Answer, certificate: tuple[Path, Path] | None = None, port: int = 0) -> Iterator[Server]:
    """A server with these answers, without any it accepts all; by TLS with a certificate and its key."""
    secure = None
    if certificate is not None:
        secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        secure.load_cert_chain(*certificate)
    with socket.create_server(("127.0.0.1", port)) as door:
        server = Server(door.getsockname()[1])
        over = threading.Event()
        thread = threading.Thread(target=_serve, args=(door, server, answers or (OK,), over, secure), daemon=True)
        thread.start()
        yield server
        over.set()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port)):
            pass
        thread.join(5)


def trickling(connection: socket.socket) -> None:
    """An answer that comes byte by byte and has no end."""
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not threading.Event().wait(0.02):
            connection.sendall(b"x")


def silent(connection: socket.socket) -> None:
    """No answer, and no end either."""
    connection.settimeout(60)
    with contextlib.suppress(OSError):
        connection.recv(1)


def _serve(
    door: socket.socket,
    server: Server,
    answers: tuple[Answer, ...],
    over: threading.Event,
    secure: ssl.SSLContext | None,
) -> None:
    count = 0
    while True:
        connection, _ = door.accept()
        if over.is_set():
            connection.close()
            return
        answer = answers[min(count, len(answers) - 1)]
        count += 1
        threading.Thread(target=_answer, args=(connection, server, answer, secure), daemon=True).start()


def _answer(plain: socket.socket, server: Server, answer: Answer, secure: ssl.SSLContext | None) -> None:
    """Read a request and answer it. Whoever is on the other side may go at any time."""
    with contextlib.suppress(OSError), plain:
        connection = plain if secure is None else secure.wrap_socket(plain, server_side=True)
        with connection:
            _converse(connection, server, answer)


def _converse(connection: socket.socket, server: Server, answer: Answer) -> None:
    with connection.makefile("rb") as stream:
        start = stream.readline().split()
        if len(start) < 2:
            return
        headers = {}
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            headers[name.decode("latin-1").lower()] = value.strip().decode("latin-1")
        body = stream.read(int(headers.get("content-length", 0)))
        with server.came:
            server.requests.append(
                Request(start[0].decode("latin-1"), start[1].decode("latin-1"), headers, body, answer)
            )
            server.came.notify_all()
        if callable(answer):
            answer(connection)
        else:
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_WR)
