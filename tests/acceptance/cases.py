"""The recorded cases beside the checkout, and what is asked of an analysis of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from datamodel.reports.analysis import Analysis

Analysed = Callable[[str, bool], Analysis]

CAPTURES = ("s1-healthy", "s2-slow-nic", "s3-straggler", "s4-two-jobs", "s7-fsdp", "s10-jitter")
PRODUCTION = "bd-st"
CASES = (*CAPTURES, PRODUCTION)


@dataclass(frozen=True, slots=True)
class Case:
    """Where a case's records, inventory and truth lie."""

    records: Path
    inventory: Path
    truth: Path


def case(shared: Path, name: str) -> Case:
    """The files of a case: a capture is a mirror, the production case flow records."""
    if name == PRODUCTION:
        folder = shared / "cases" / name
        return Case(folder / "flows.parquet", folder / "inventory.yaml", folder / "truth.json")
    folder = shared / "captures" / name
    return Case(folder / "mirror.pcap.gz", folder / "inventory.yaml", folder / "truth" / "truth.json")


def needs(name: str, *, inventory: bool) -> dict[str, float]:
    """The least a report of a case must be worth, by mark."""
    if name == PRODUCTION:
        return {"jobs": 1, "groups": 1, "stages": 1, "wrong_sizes": 0, "timeline": 0.003, "faults": 1, "false": 0}
    # Compute that jitters behind the last transfer is not seen: nobody can do better on this one.
    timeline = 0.01 if name == "s10-jitter" else 0.003
    always = {"jobs": 1, "wrong_sizes": 0, "iterations": 0.97, "timeline": timeline, "false": 0}
    if not inventory:
        return always
    return always | {"sizes": 1, "groups": 1, "stages": 1, "faults": 1, "duplicates": 0, "onset": 2}
