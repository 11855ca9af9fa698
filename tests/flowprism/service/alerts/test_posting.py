"""Only an answer of 2xx counts, and nothing lasts longer than it may."""

from __future__ import annotations

import socket
import time

import pytest

from flowprism.service.alerts.posting import NotDeliveredError, post
from tests.flowprism.service.alerts.listening import Answer, listening, silent, trickling

QUICK_S = 0.4


def refusal(url: str) -> NotDeliveredError:
    """Why it is not accepted there; and that one knows in time."""
    begun = time.monotonic()
    with pytest.raises(NotDeliveredError) as refused:
        post(url, b"{}", {}, QUICK_S)
    assert time.monotonic() - begun < 5 * QUICK_S
    return refused.value


def test_what_is_accepted_came_as_it_was_sent() -> None:
    """Path, query, headers and body."""
    with listening() as server:
        post(f"{server.url}/a/b?c=d", b"caf\xc3\xa9", {"X-Y": "z"}, 5)
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
        (silent, f"no answer within {QUICK_S} s"),
        (trickling, f"no answer within {QUICK_S} s"),
    ],
)
def test_what_is_no_2xx_is_not_accepted(answer: Answer, problem: str) -> None:
    """Refusals, redirections, silence, answers without end and what is no HTTP: each is told as what it is."""
    with listening(answer) as server:
        assert str(refusal(server.url)) == problem


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
        post(server.url, b"{}", {}, QUICK_S)


@pytest.mark.parametrize(("said", "wait_s"), [("7", 7.0), ("999999", 3600.0), ("Fri, 01 Jan", 0.0), ("-1", 0.0)])
def test_a_receiver_may_ask_to_be_left_alone(said: str, wait_s: float) -> None:
    """For some seconds, an hour at most."""
    with listening(f"HTTP/1.1 429 Too Many\r\nRetry-After: {said}\r\n\r\n".encode()) as server:
        assert refusal(server.url).wait_s == wait_s


def test_plain_http_is_not_taken_for_tls() -> None:
    """A server without TLS, asked for https."""
    with listening() as server:
        assert str(refusal(server.url.replace("http", "https")))


def test_proxies_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy gets the whole address; for hosts of `no_proxy` it is not asked."""
    with listening() as proxy, listening() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        post(f"{server.url}/direct", b"", {}, 5)
        post("http://far.invalid/x", b"", {}, 5)
        assert [one.path for one in server.wait(1)] == ["/direct"]
        assert [one.path for one in proxy.wait(1)] == ["http://far.invalid/x"]
