"""The head of a ring of datagrams: state shared by its receiver, its decoder and their monitors.

The ring is anonymous memory that several processes map (memfd_create(2)): it outlives each of them and goes with the
last. This module needs no compiled code, so that a supervisor can watch a ring without loading the decoders.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

Header = Any  # one HEADER record; numba and NumPy have no static type for its fields in common

MOST_SOCKETS = 32  # one receiver has
MOST_REFUSED_SOURCES = 256  # counted separately; the others are counted together
_CACHE_LINE_BYTES = 64

REFUSED = np.dtype([("high", "i8"), ("low", "i8"), ("datagrams", "i8")])

# Each half is written by one process only. Datagrams are counted from 0 on, over the whole life of the ring.
HEADER = np.dtype(
    [
        # The receiver's half.
        ("written", "i8"),  # datagrams put into the ring
        ("head", "i8"),  # where in the data the next payload goes
        ("bytes", "i8"),  # of all payloads put in
        ("received", "i8", (MOST_SOCKETS,)),  # datagrams or messages by socket, those refused left out
        ("refused", "i8"),  # datagrams from addresses that are not allowed
        ("refused_elsewhere", "i8"),  # of these, from sources beyond MOST_REFUSED_SOURCES
        ("waits", "i8"),  # times the ring was full
        ("wait_ns", "i8"),  # time spent waiting for room
        ("closed", "i8"),  # 1: nothing more will be put in
        ("receivers", "i8"),  # how many have come up so far
        ("sessions", "i8"),  # TCP sessions accepted
        ("sessions_open", "i8"),
        ("sessions_refused", "i8"),  # not allowed, or one too many
        ("sessions_idle", "i8"),  # ended by us, since nothing came
        ("sessions_broken", "i8"),  # ended by us, since what came was no IPFIX
        ("messages_cut", "i8"),  # sessions that ended inside a message
        ("_apart", "u1", (_CACHE_LINE_BYTES,)),
        # The decoder's half.
        ("committed", "i8"),  # datagrams below this number are durable; their room is free
        ("decoded", "i8"),  # datagrams below this number have been decoded
        ("mark_from", "i8"),  # the datagrams that are being decoded right now; none where both are equal
        ("mark_to", "i8"),
        ("mark_alone", "i8"),  # 1: marked because a decoder died on a batch that it was in
        ("beat", "i8"),  # changes while the decoder lives and moves
        ("ready", "i8"),  # how many decoders have come up so far
        ("busy_ns", "i8"),  # time in which decoders were not waiting for datagrams
        (
            "busy_since_ns",
            "i8",
        ),  # since when the decoder is at work that is not in it yet (CLOCK_MONOTONIC); 0: it waits
        ("warm", "i8"),  # how many have their code ready, and wait for their state or have come up
        ("_beyond", "u1", (_CACHE_LINE_BYTES,)),
        ("refused_sources", REFUSED, (MOST_REFUSED_SOURCES,)),
    ],
    align=True,
)

HEADER_ROOM_BYTES = -(-HEADER.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE


def create(size_bytes: int) -> int:
    """Create shared memory of `size_bytes`, header included; its descriptor is not inherited unless passed on.

    Pages take memory once they are used.
    """
    descriptor = os.memfd_create("flowprism-ring", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, size_bytes)
    return descriptor


def header_of(descriptor: int) -> npt.NDArray[np.void]:
    """Map the header of the ring behind `descriptor`, shape (1,); shared memory."""
    return np.frombuffer(mmap.mmap(descriptor, HEADER_ROOM_BYTES), HEADER, 1)
