"""The callback by which a long stage reports its progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called by a stage now and then: its name, what is done of how much, in any unit; 0 of 0 where that is unknown."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take note that `stage` has done `done` of `total`."""
        ...
