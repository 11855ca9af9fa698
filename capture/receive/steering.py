"""Which worker the datagrams of a source go to: the kernel chooses the socket by a hash of the source address.

The same hash is computed here for the states of decoders, so that what is known of an exporter follows its datagrams
when the number of workers changes.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from capture.tables.addresses import MAPPED

Words = npt.NDArray[np.int64]

# <asm-generic/socket.h>, <linux/filter.h>
_STEER = 51
_LOAD, _LOAD_X, _STORE, _XOR_X, _MULTIPLY, _SHIFT, _MODULO = 0x20, 0x61, 0x02, 0xAC, 0x24, 0x74, 0x94
_JUMP_IF_EQUAL, _RETURN = 0x15, 0x06
_FROM_IP_HEADER = 0xFFF00000  # SKF_NET_OFF
_IPV4_SOURCE_AT, _IPV6_SOURCE_AT = 12, 8
_ODD, _HIGH_HALF, _WORD = 0x9E3779B1, 16, 0xFFFFFFFF


def steer(sock: socket.socket, family: int, places: Sequence[int]) -> None:
    """Have the kernel choose by the source address alone (a classic BPF program for the whole group of sockets).

    Its own choice would also hash the source port, and differ after every start of the machine. A program replaces the
    one before it at once.

    Args:
        sock: one of the sockets that share a port.
        family: of their address.
        places: place, in the order in which they were bound, of the socket of each worker.
    """
    if family == socket.AF_INET:
        program = [(_LOAD, 0, 0, _FROM_IP_HEADER + _IPV4_SOURCE_AT)]
    else:
        program = [(_LOAD, 0, 0, _FROM_IP_HEADER + _IPV6_SOURCE_AT)]
        for word in range(1, 4):
            # Accumulator to memory, the next word in its place, what was stored to X, and both joined.
            at = _FROM_IP_HEADER + _IPV6_SOURCE_AT + 4 * word
            program += [(_STORE, 0, 0, 0), (_LOAD, 0, 0, at), (_LOAD_X, 0, 0, 0), (_XOR_X, 0, 0, 0)]
    program += [(_MULTIPLY, 0, 0, _ODD), (_SHIFT, 0, 0, _HIGH_HALF), (_MODULO, 0, 0, len(places))]
    for worker, place in enumerate(places):
        program += [(_JUMP_IF_EQUAL, 0, 1, worker), (_RETURN, 0, 0, place)]
    program += [(_RETURN, 0, 0, places[0])]  # never reached; a program has to end with an answer
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    kept = ctypes.create_string_buffer(code, len(code))
    sock.setsockopt(socket.SOL_SOCKET, _STEER, struct.pack("@HP", len(program), ctypes.addressof(kept)))


def worker_of(high: Words, low: Words, workers: int) -> Words:
    """The worker, of so many, that `steer` gives each source address (two words, IPv4 as IPv4-mapped)."""
    word = low & _WORD
    is_ipv4 = (high == 0) & (low >> 32 == MAPPED >> 32)
    others = (low >> 32 ^ high ^ high >> 32) & _WORD
    folded = (np.where(is_ipv4, word, word ^ others)).astype(np.uint64)
    mixed = folded * np.uint64(_ODD) & np.uint64(_WORD)
    return ((mixed >> np.uint64(_HIGH_HALF)) % np.uint64(workers)).astype(np.int64)
