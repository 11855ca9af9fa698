"""How many messages a receiver may get."""

from __future__ import annotations


class SendLimit:
    """So many in any minute at most, a short burst included."""

    def __init__(self, most_per_minute: int) -> None:
        """Begin with none sent."""
        self._most = most_per_minute
        self._sent_s: list[float] = []

    def allows(self, now_s: float) -> bool:
        """Whether one more may be sent now, which then counts.

        Args:
            now_s: of a clock that never goes back.
        """
        self._sent_s = [sent_s for sent_s in self._sent_s if now_s - sent_s < 60.0]
        if len(self._sent_s) >= self._most:
            return False
        self._sent_s.append(now_s)
        return True
