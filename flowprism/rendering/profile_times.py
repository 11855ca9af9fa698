"""Where a profiled rank's iteration went, by the classes that people are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from datamodel.telemetry.profiles import ProfiledRank, ProfileReport

# What is shown, and the classes that each adds up.
CLASSES = {
    "compute": ("compute",), "copies": ("copy",), "host": ("host",), "idle": ("idle",), "wait": ("wait",),
    "transfer": ("transfer", "communication"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClassTime:
    """Median time of an iteration in one class, and the median of the rank's peers; 0 where it has none."""

    name: str
    seconds: float
    peers_seconds: float


def class_times(rank: ProfiledRank) -> list[ClassTime]:
    """The times of all classes, in the order of `CLASSES`."""
    return [
        ClassTime(
            name,
            sum(time.seconds for time in rank.times if time.what in whats),
            sum(time.peers_seconds or 0.0 for time in rank.times if time.what in whats),
        )
        for name, whats in CLASSES.items()
    ]


def at_fault(report: ProfileReport) -> list[ProfiledRank]:
    """The ranks that a verdict names alone, in the order of the report."""
    blamed = set(_alone(report))
    return [one for one in report.ranks if label(one) in blamed]


def label(rank: ProfiledRank) -> int | str:
    """As verdicts name it: the rank, else the file."""
    return rank.file if rank.rank is None else rank.rank


def where(rank: ProfiledRank) -> str:
    """Its host and endpoint, as far as they are known."""
    return " ".join(name for name in (rank.host, rank.endpoint) if name)


def _alone(report: ProfileReport) -> Iterable[int | str]:
    return (verdict.ranks[0] for verdict in report.verdicts if len(verdict.ranks) == 1)
