"""Sentences and grades of findings: what a person on call reads first."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from datamodel.reports.findings import Severity

WARNING, CRITICAL = 1.10, 1.20
# So many places somebody can be sent to; a cause that is likelier to be in none of them wakes nobody up.
PLACES, LIKELY = 4, 0.5


def severity(slowdown_ratio: float, probabilities: Sequence[float] = (1.0,)) -> Severity:
    """Grade by what the iteration time pays; `info` where the likeliest suspects probably are not the cause.

    Args:
        slowdown_ratio: iteration time now over what it would be without the cause.
        probabilities: of each suspect.
    """
    if sum(sorted(probabilities, reverse=True)[:PLACES]) <= LIKELY:
        return "info"
    if slowdown_ratio >= CRITICAL:
        return "critical"
    return "warning" if slowdown_ratio >= WARNING else "info"


def finding_id(job: str, kind: str, subject: tuple[str, ...], start_ns: int) -> str:
    """A name that the same finding gets again from the same records."""
    text = "|".join((job, kind, *subject, str(start_ns)))
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def percent(ratio: float) -> str:
    """1.54 -> "54 %"."""
    return f"{100 * (ratio - 1):.0f} %"


def listed(names: tuple[str, ...], at_most: int = 4) -> str:
    """Names in a sentence."""
    shown = ", ".join(names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"


def gbps(rate_bps: float) -> str:
    """A rate in the unit that fits it."""
    return f"{rate_bps / 1e9:.2f} Gbit/s" if rate_bps >= 1e9 else f"{rate_bps / 1e6:.0f} Mbit/s"
