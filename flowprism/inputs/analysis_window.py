"""Which stretch of time is looked at: all there is, or its last part."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from datamodel.errors import InputError
from datamodel.telemetry.flows import Flows

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,9})([smhd])")


@dataclass(frozen=True, slots=True)
class AnalysisWindow:
    """The last `last_ns` before the newest record; everything where it is None."""

    last_ns: int | None = None

    def begin_ns(self, newest_ns: int | None) -> int | None:
        """Where it begins, if the newest record ends at `newest_ns`; None where nothing is left out."""
        return None if self.last_ns is None or newest_ns is None else newest_ns - self.last_ns


def parse_window(text: str | None) -> AnalysisWindow:
    """A duration as it is typed: `90s`, `10m`, `2h`, `1d`; None for everything.

    Raises:
        InputError: the text is none.
    """
    if text is None:
        return AnalysisWindow()
    match = _DURATION.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise InputError(f"--last {text}: expected a duration such as 90s, 10m, 2h or 1d")
    return AnalysisWindow(int(match[1]) * _UNITS_S[match[2]] * 1_000_000_000)


def newest_ns(flows: Flows) -> int | None:
    """When the last record ends; None where there is none."""
    return int(flows.frame["time_flow_end_ns"].max()) if len(flows) else None


def since(flows: Flows, begin_ns: int | None) -> Flows:
    """The records that end at `begin_ns` or later; all where that is None."""
    if begin_ns is None:
        return flows
    return flows.take(np.flatnonzero(flows.frame["time_flow_end_ns"] >= begin_ns))
