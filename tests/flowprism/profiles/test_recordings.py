"""Verdicts on real recordings: PyTorch with gloo on the CPU, slowed in five ways (`tests/data/profiles`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.telemetry.profiles import ProfileReport
from tests.flowprism.profiles.test_profile_read import read
from tests.house.checkout import ROOT

FOLDER = ROOT / "tests" / "data" / "profiles"
# Of each way the verdict's cause, and what it names.
SHOWN = {
    "loader": ("loader", "__getitem__"),
    "python": ("python", "augment"),
    "pause": ("python", "<built-in function sleep>"),
    "gemm": ("kernels", "gemm"),
    "memory": ("kernels", "other"),
}


def recordings() -> list[Path]:
    """A folder each."""
    return sorted(path for path in FOLDER.iterdir() if path.name.count("-") == 2)


@pytest.mark.parametrize("folder", recordings(), ids=lambda path: path.name)
def test_rank_and_cause_of_a_recording(folder: Path) -> None:
    """The rank that was slowed and what slowed it, and nothing on the clean ones."""
    way, ranks, culprit = folder.name.split("-")
    report: ProfileReport = read(folder)
    assert (len(report.ranks), report.problems) == (int(ranks), ())
    found = [(one.cause, one.ranks) for one in report.verdicts]
    assert found == ([] if way == "clean" else [(SHOWN[way][0], (int(culprit),))])
    assert way == "clean" or SHOWN[way][1] in report.summary


def test_every_way_is_recorded() -> None:
    """Five, and clean ones."""
    assert len(recordings()) >= 8
    assert {path.name.partition("-")[0] for path in recordings()} == {*SHOWN, "clean"}
