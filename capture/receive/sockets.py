"""The sockets that exporters send to: how they are opened, divided among workers, and asked for what they dropped."""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
from contextlib import ExitStack
from dataclasses import dataclass

from datamodel.errors import InputError

TIME_STAMPS = 35  # SO_TIMESTAMPNS, and the type of the control message it adds to every datagram

# <asm-generic/socket.h>, <linux/sock_diag.h>, <linux/filter.h>
_FORCE_BUFFER, _MEMORY, _STEER = 33, 55, 51
_MEMORY_WORDS, _QUEUED, _DROPS = 9, 0, 8
_LOAD, _LOAD_X, _STORE, _XOR_X, _MULTIPLY, _SHIFT, _MODULO, _RETURN_A = 0x20, 0x61, 0x02, 0xAC, 0x24, 0x74, 0x94, 0x16
_FROM_IP_HEADER = 0xFFF00000  # SKF_NET_OFF
_IPV4_SOURCE_AT, _IPV6_SOURCE_AT = 12, 8
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
            sock = undo.enter_context(socket.socket(family, socket.SOCK_STREAM if listen.tcp else socket.SOCK_DGRAM))
            _prepare(sock, family, listen.tcp, buffer_bytes)
            sock.bind((host, port))
            port = sock.getsockname()[1]
            if listen.tcp:
                sock.listen(_BACKLOG)
            doors.append(ListeningSocket(sock, Listen(host, port, listen.tcp)))
        if workers > 1:
            _steer(doors[0].socket, family, workers)
    except OSError as error:
        raise InputError(f"{Listen(host, listen.port, listen.tcp)}: cannot listen: {error.strerror}") from None
    return doors


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


def _steer(sock: socket.socket, family: int, workers: int) -> None:
    """Have the kernel choose the worker by the source address alone (a classic BPF program for the whole group).

    Its own choice would also hash the source port, and differ after every start of the machine.
    """
    if family == socket.AF_INET:
        program = [(_LOAD, _FROM_IP_HEADER + _IPV4_SOURCE_AT)]
    else:
        program = [(_LOAD, _FROM_IP_HEADER + _IPV6_SOURCE_AT)]
        for word in range(1, 4):
            # Accumulator to memory, the next word in its place, what was stored to X, and both joined.
            program += [(_STORE, 0), (_LOAD, _FROM_IP_HEADER + _IPV6_SOURCE_AT + 4 * word), (_LOAD_X, 0), (_XOR_X, 0)]
    program += [(_MULTIPLY, 0x9E3779B1), (_SHIFT, 16), (_MODULO, workers), (_RETURN_A, 0)]
    code = b"".join(struct.pack("=HBBI", operation, 0, 0, value) for operation, value in program)
    kept = ctypes.create_string_buffer(code, len(code))
    sock.setsockopt(socket.SOL_SOCKET, _STEER, struct.pack("@HP", len(program), ctypes.addressof(kept)))


def buffer_bytes_of(sock: socket.socket) -> int:
    """Memory that the kernel grants the socket, in the measure it was asked in (it doubles it for its own needs)."""
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2


def backlog(sock: socket.socket) -> tuple[int, int]:
    """Bytes that wait in a UDP socket as the kernel counts them, and datagrams dropped so far (modulo 2^32)."""
    words = struct.unpack("=9I", sock.getsockopt(socket.SOL_SOCKET, _MEMORY, 4 * _MEMORY_WORDS))
    return words[_QUEUED], words[_DROPS]
