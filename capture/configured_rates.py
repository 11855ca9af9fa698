"""Sampling rates that an operator configures in place of the exported ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

UNKNOWN_RATE = 0


@dataclass(frozen=True, slots=True)
class SamplingRates:
    """Configured rates, as N of 1 in N; they replace what an exporter says, with a warning where the two differ.

    Attributes:
        by_exporter: rate by agent address (or address the datagrams come from), in canonical text form.
        otherwise: rate of all other exporters; UNKNOWN_RATE leaves them what they say themselves.
    """

    by_exporter: Mapping[str, int] = field(default_factory=dict)
    otherwise: int = UNKNOWN_RATE

    def of(self, exporter: str) -> int:
        """The configured rate of an exporter; UNKNOWN_RATE where there is none."""
        return self.by_exporter.get(exporter, self.otherwise)
