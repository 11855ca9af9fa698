"""Counts everything rejected, doubtful or guessed while reading, by reason."""

from __future__ import annotations

from collections import Counter

from datamodel.telemetry.flows import IngestNotes


class IngestLog:
    """Counts and warnings gathered while one input is read."""

    def __init__(self) -> None:
        """Start with nothing to say."""
        self.rejected: Counter[str] = Counter()
        self._warnings: dict[str, None] = {}  # in order, and found without a search

    def reject(self, reason: str, count: int = 1) -> None:
        """Count `count` packets, rows or blocks that were left out because of `reason`."""
        if count:
            self.rejected[reason] += count

    def warn(self, message: str) -> None:
        """Say `message`, once."""
        self._warnings[message] = None

    @property
    def warnings(self) -> list[str]:
        """What was said, in order."""
        return list(self._warnings)

    def notes(self) -> IngestNotes:
        """The account so far; reasons sorted, warnings in the order they arose."""
        return IngestNotes(dict(sorted(self.rejected.items())), tuple(self._warnings))
