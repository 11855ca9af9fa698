"""Linux's structures for recvmmsg(2) and sendmmsg(2) on 64-bit machines."""

from __future__ import annotations

import numpy as np

# struct iovec
PIECE = np.dtype([("base", "u8"), ("length", "u8")])

# struct mmsghdr
MESSAGE = np.dtype(
    [
        ("name", "u8"),
        ("name_bytes", "u4"),
        ("pieces", "u8"),
        ("piece_count", "u8"),
        ("control", "u8"),
        ("control_bytes", "u8"),
        ("flags", "u8"),  # 32 bits and padding
        ("length", "u4"),  # of the datagram
    ],
    align=True,
)

# struct cmsghdr with a timespec behind it
CONTROL = np.dtype([("bytes", "u8"), ("level", "i4"), ("type", "i4"), ("time_s", "i8"), ("part_ns", "i8")])
