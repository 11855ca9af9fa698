"""A growing view over a stream of blocks: what a container has not consumed yet stays in front of what comes next."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


def as_array(content: bytes | bytearray) -> Bytes:
    """A copy of `content` that may be written: for arrays that may not, every kernel would be compiled once more."""
    return np.frombuffer(bytearray(content), np.uint8)


class ReadBuffer:
    """Bytes `data[start:end]` wait to be read; `data` is reused, so views into it hold until the next `append`."""

    def __init__(self) -> None:
        self.data: Bytes = np.empty(0, np.uint8)
        self.start = 0
        self.end = 0

    def append(self, block: bytes) -> None:
        """Put `block` behind the bytes that wait, moving them to the front."""
        waiting = self.end - self.start
        needed = waiting + len(block)
        target = self.data if needed <= len(self.data) else np.empty(needed + needed // 4, np.uint8)
        target[:waiting] = self.data[self.start : self.end].copy()
        target[waiting:needed] = np.frombuffer(block, np.uint8)
        self.data, self.start, self.end = target, 0, needed
