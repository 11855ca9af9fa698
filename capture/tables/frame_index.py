"""Where the frames of a capture lie: one row a frame, whatever container it came in."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from capture.tables.read_buffer import Bytes

Index = npt.NDArray[np.void]

NO_TIME = -1  # a frame whose container gives it no time stamp
MAX_FRAME_BYTES = 1 << 24  # beyond any snap length in use; a greater length means a damaged file

INDEX = np.dtype(
    [
        ("offset", "i8"),  # of the frame's first byte in the window
        ("time_ns", "i8"),  # UTC; NO_TIME where there is none
        ("captured_bytes", "i4"),
        ("wire_bytes", "i4"),
        ("link", "i4"),  # LINKTYPE_ value; -1 where the interface was never described
        ("interface", "i4"),  # interface number within its section
    ],
    align=True,
)


class Container(Protocol):
    """What finds the frames in a capture's bytes."""

    damage: str  # why nothing further can be read; "" while all is well

    def scan(self, data: Bytes, start: int, end: int, index: Index) -> tuple[int, int]:
        """Index the whole frames of `data[start:end]`.

        Returns:
            How many rows of `index` were filled, and where the first byte not consumed lies. Fewer rows than `index`
            has mean that more bytes are needed (or, with `damage` set, that there is nothing more to find).
        """
