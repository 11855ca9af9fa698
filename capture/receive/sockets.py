"""The sockets that exporters send to: how they are opened, divided among workers, and asked for what they dropped."""

from __future__ import annotations

import socket
import struct
import sys
from contextlib import ExitStack
from dataclasses import dataclass

from capture.receive.steering import steer
from datamodel.errors import InputError

TIME_STAMPS = 35  # SO_TIMESTAMPNS, and the type of the control message it adds to every datagram

# <asm-generic/socket.h>, <linux/sock_diag.h>
_FORCE_BUFFER, _MEMORY = 33, 55
_MEMORY_WORDS, _QUEUED, _DROPS = 9, 0, 8
_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen.

    Attributes:
        host: an address of this machine; "*" stands for all of both families.
        port: 0 lets the system choose.
        tcp: IPFIX over TCP instead of datagrams.
    """

    host: str
    port: int
    tcp: bool = False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tcp:' if self.tcp else ''}{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ListeningSocket:
    """One open socket of one worker.

    Attributes:
        socket: the socket.
        listen: where it listens, with the port it really has.
    """

    socket: socket.socket
    listen: Listen


def open_sockets(listens: tuple[Listen, ...], workers: int, buffer_bytes: int) -> list[list[ListeningSocket]]:
    """The sockets of every worker.

    All workers listen on the same ports; the kernel gives each source address to one worker, so that all an exporter
    sends goes the same way, in order, whatever ports it sends from.

    Args:
        listens: where to listen.
        workers: how many share the work.
        buffer_bytes: kernel memory to ask for, for each socket.

    Raises:
        InputError: a port is taken or not permitted, or an address is not ours.
    """
    if sys.platform != "linux":
        raise InputError("collect: receiving from exporters needs Linux")
    with ExitStack() as undo:
        doors: list[list[ListeningSocket]] = [[] for _ in range(workers)]
        for listen in listens:
            for family, host in _families(listen):
                for worker, door in enumerate(_shared(listen, family, host, workers, buffer_bytes, undo)):
                    doors[worker].append(door)
        undo.pop_all()
    return doors


def _families(listen: Listen) -> list[tuple[int, str]]:
    if listen.host != "*":
        return [(socket.AF_INET6 if ":" in listen.host else socket.AF_INET, listen.host)]
    both = [(int(socket.AF_INET), "0.0.0.0")]  # noqa: S104 - a collector listens on all addresses by default
    return [(int(socket.AF_INET6), "::"), *both] if _has_ipv6() else both


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def _shared(
    listen: Listen, family: int, host: str, workers: int, buffer_bytes: int, undo: ExitStack
) -> list[ListeningSocket]:
    """Sockets on one address, one for each worker."""
    doors: list[ListeningSocket] = []
    port = listen.port
    try:
        _refuse_to_share(family, host, listen)
        for _ in range(workers):
            door = _bound(Listen(host, port, listen.tcp), family, buffer_bytes, undo)
            port = door.listen.port
            doors.append(door)
        if workers > 1:  # which not every kernel or sandbox can
            steer(doors[0].socket, family, range(workers))
    except OSError as error:
        raise InputError(f"{Listen(host, listen.port, listen.tcp)}: cannot listen: {error.strerror}") from None
    return doors


def _bound(listen: Listen, family: int, buffer_bytes: int, undo: ExitStack) -> ListeningSocket:
    """One more socket on an address, which is an address of one family."""
    sock = undo.enter_context(socket.socket(family, socket.SOCK_STREAM if listen.tcp else socket.SOCK_DGRAM))
    _prepare(sock, family, listen.tcp, buffer_bytes)
    sock.bind((listen.host, listen.port))
    if listen.tcp:
        sock.listen(_BACKLOG)
    return ListeningSocket(sock, Listen(listen.host, sock.getsockname()[1], listen.tcp))


def add_sockets(doors: list[ListeningSocket], buffer_bytes: int) -> list[ListeningSocket]:
    """One more socket next to each of these; they receive nothing before `steer` says so.

    Raises:
        OSError: they cannot be opened.
    """
    with ExitStack() as undo:
        added = [_bound(door.listen, door.socket.family, buffer_bytes, undo) for door in doors]
        undo.pop_all()
    return added


def _refuse_to_share(family: int, host: str, listen: Listen) -> None:
    """Fail where another process listens: sockets that share a port would each get a part of the datagrams."""
    with socket.socket(family, socket.SOCK_STREAM if listen.tcp else socket.SOCK_DGRAM) as probe:
        if family == socket.AF_INET6:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if listen.tcp:  # closing sessions of an earlier run do not count
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, listen.port))
        if listen.tcp:
            probe.listen()


def _prepare(sock: socket.socket, family: int, tcp: bool, buffer_bytes: int) -> None:
    sock.setblocking(False)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if tcp:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return
    sock.setsockopt(socket.SOL_SOCKET, TIME_STAMPS, 1)
    try:
        sock.setsockopt(socket.SOL_SOCKET, _FORCE_BUFFER, buffer_bytes)
    except PermissionError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)


def buffer_bytes_of(sock: socket.socket) -> int:
    """Memory that the kernel grants the socket, in the measure it was asked in (it doubles it for its own needs)."""
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2


def backlog(sock: socket.socket) -> tuple[int, int]:
    """Bytes that wait in a UDP socket as the kernel counts them, and datagrams dropped so far (modulo 2^32)."""
    words = struct.unpack("=9I", sock.getsockopt(socket.SOL_SOCKET, _MEMORY, 4 * _MEMORY_WORDS))
    return words[_QUEUED], words[_DROPS]
