"""Made jobs with one of ten causes, or none: who is named, and for what."""

from pathlib import Path

import pytest

from datamodel.telemetry.profiles import ProfileReport
from flowprism.profiles.folder import read_profiles
from flowprism.profiles.reading import report_profiles
from tests.diagnose.profiles.made_profiles import (
    CASES_A_CAUSE,
    CAUSES,
    CLEAN,
    FUNCTION,
    LOADER,
    Case,
    MadeJob,
    case_of,
    group_members,
    write_case,
)  # fmt: skip

EXPECTED = {
    "clocks": ("clocks", ""), "gemm": ("kernels", "gemm"), "attention": ("kernels", "attention"),
    "elementwise": ("kernels", "elementwise"), "loader": ("loader", LOADER[1]), "python": ("python", FUNCTION),
    "host": ("host", ""), "host to GPU": ("copies", "host to GPU"), "GPU to host": ("copies", "GPU to host"),
    "network": ("network", "transfers"),
}  # fmt: skip
FAULTY = len(CAUSES) * CASES_A_CAUSE


def analyzed(case: Case, folder: Path) -> ProfileReport:
    """What the recordings of a case show."""
    folder.mkdir()
    write_case(case, folder)
    return report_profiles(*read_profiles(folder))


def culprits(case: Case) -> tuple[int, ...]:
    """The ranks to be named."""
    return group_members(case, "dp", case.culprit) if case.cause == "network" else (case.culprit,)


@pytest.mark.parametrize("number", range(len(CAUSES)))
def test_each_cause_is_named(tmp_path: Path, number: int) -> None:
    """One verdict: the rank, or the group, and what is slow."""
    case = case_of(number)
    (verdict,) = analyzed(case, tmp_path / "case").verdicts
    assert (verdict.ranks, verdict.cause, verdict.what) == (culprits(case), *EXPECTED[case.cause])


@pytest.mark.parametrize("number", range(4))
def test_factor_is_that_of_the_slow_kernels(tmp_path: Path, number: int) -> None:
    """Of one family where one is slow, of all where the clock is."""
    case = case_of(number)
    (verdict,) = analyzed(case, tmp_path / "case").verdicts
    made = MadeJob(case).factor(case.culprit, "gemm" if case.cause == "clocks" else case.cause)
    assert verdict.factor is not None
    assert abs(verdict.factor / made - 1) < 0.05


@pytest.mark.parametrize("number", range(FAULTY, FAULTY + 3))
def test_nothing_is_named_on_clean_jobs(tmp_path: Path, number: int) -> None:
    """Noise and roles are no finding."""
    assert analyzed(case_of(number), tmp_path / "case").verdicts == ()


@pytest.mark.slow
def test_all_made_cases(tmp_path: Path) -> None:
    """120 cases of ten causes: every culprit, 97.5 % of what is slow; 40 clean ones: none."""
    found = [(case, analyzed(case, tmp_path / str(case.number))) for case in map(case_of, range(FAULTY + CLEAN))]
    wrong = [case for case, report in found[:FAULTY] if [v.ranks for v in report.verdicts] != [culprits(case)]]
    unclear = [
        case
        for case, report in found[:FAULTY]
        if (report.verdicts[0].cause, report.verdicts[0].what) != EXPECTED[case.cause]
    ]
    false = [case for case, report in found[FAULTY:] if report.verdicts]
    assert (wrong, false) == ([], [])
    assert len(unclear) <= 0.025 * FAULTY
