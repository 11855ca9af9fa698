"""Recordings that do not say whose they are are placed by when their collectives begin and end."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from datamodel.reconstructed.timeline import Timelines
from datamodel.telemetry.profiles import Profile
from diagnose.profiles.placement import ProfilePlacement, place_profiles
from flowprism.profiles.folder import read_profiles
from tests.diagnose.profiles.made_profiles import (
    CASES_A_CAUSE,
    CAUSES,
    CLEAN,
    MadeJob,
    address_of,
    case_of,
    clock_bases_ns,
    group_members,
    made_timelines,
    write_recordings,
)  # fmt: skip

BEFORE, AFTER = 7, 9
ERROR_US = 3.0


def made_job(number: int, series: int = 28, *, late_posting: bool = False) -> MadeJob:
    """A job of which five iterations are recorded, in the midst of others."""
    job = MadeJob(case_of(number, series), late_posting=late_posting)
    job.run(BEFORE, AFTER)
    return job


def recorded(job: MadeJob, folder: Path) -> list[Profile]:
    """Its recordings, which name neither ranks nor members of groups."""
    folder.mkdir(exist_ok=True)
    write_recordings(job, folder, ranks=False)
    profiles, _ = read_profiles(folder)
    return [replace(one, groups=tuple(map(str, map(hash, one.groups))), rank=None) for one in profiles]


def placed(profiles: Sequence[Profile], timelines: Timelines) -> dict[int, ProfilePlacement | None]:
    """Where each rank is said to be."""
    ranks = [int(one.name.partition("_")[2].partition(".")[0]) - 4000 for one in profiles]
    return dict(zip(ranks, place_profiles(profiles, timelines, [None] * len(profiles)), strict=True))


def named(found: dict[int, ProfilePlacement | None]) -> dict[int, str]:
    """Those whose endpoint is certain."""
    return {rank: fit.endpoint for rank, fit in found.items() if fit is not None and fit.endpoint is not None}


@pytest.mark.parametrize("number", [0, 2, 5, 11])
def test_every_recording_finds_its_endpoint(tmp_path: Path, number: int) -> None:
    """Whichever the layout and the fault, and by how much its host's clock is off."""
    job = made_job(number)
    found = placed(recorded(job, tmp_path), made_timelines(job, ERROR_US))
    assert named(found) == {rank: address_of(rank) for rank in range(job.case.world)}
    bases = clock_bases_ns(job.case)
    for rank, fit in found.items():
        assert fit is not None
        assert abs(fit.ahead_ns - (1_700_000_000_000_000_000 - bases[rank])) < 20_000


def test_recordings_of_some_ranks_are_enough(tmp_path: Path) -> None:
    """A host of suspects and one of peers, of a job of three."""
    job = made_job(0)
    profiles = [one for one in recorded(job, tmp_path) if not one.name.startswith("node1")]
    assert job.case.world == 12
    assert named(placed(profiles, made_timelines(job, ERROR_US))) == {
        rank: address_of(rank) for rank in (0, 1, 2, 3, 8, 9, 10, 11)
    }


def test_an_endpoint_that_is_hardly_seen_is_left_out(tmp_path: Path) -> None:
    """The flows have three iterations of one endpoint: its rank is open, ranks of other groups are found."""
    job = made_job(0)
    whole = made_timelines(job, ERROR_US)
    lost = (whole.spans["endpoint"] == 0) & (whole.spans["iteration"] != BEFORE) & (whole.spans["iteration"] % 2 == 1)
    found = placed(recorded(job, tmp_path), replace(whole, spans=whole.spans.take(~lost)))
    others = {rank: address_of(rank) for rank in range(job.case.world) if rank not in group_members(job.case, "dp", 0)}
    assert 0 not in named(found)
    assert all(address == address_of(rank) for rank, address in named(found).items())
    assert named(found).items() >= others.items()


@pytest.mark.parametrize("number", [1, 3])
def test_orders_that_fit_alike_are_left_open(tmp_path: Path, number: int) -> None:
    """Where senders wait for receivers that come later, a ring fits in both directions."""
    job = made_job(number, late_posting=True)
    found = placed(recorded(job, tmp_path), made_timelines(job, ERROR_US))
    assert named(found) == {}
    assert all(fit is None or address_of(rank) in fit.fitting for rank, fit in found.items())


def test_timelines_of_another_job_place_nothing(tmp_path: Path) -> None:
    """As many endpoints in as many groups are not enough."""
    job = made_job(0)
    other = MadeJob(replace(job.case, series=29))
    other.run(BEFORE, AFTER)
    assert set(placed(recorded(job, tmp_path), made_timelines(other, ERROR_US)).values()) == {None}


@pytest.mark.parametrize("error_us", [15.0, 200.0])
def test_coarse_timelines_name_no_wrong_endpoint(tmp_path: Path, error_us: float) -> None:
    """Errors as large as what tells ranks apart leave them open."""
    job = made_job(0)
    found = named(placed(recorded(job, tmp_path), made_timelines(job, error_us)))
    assert all(address == address_of(rank) for rank, address in found.items())
    assert error_us < 100 or not found


@pytest.mark.slow
def test_all_made_cases_are_placed(tmp_path: Path) -> None:
    """Of 54 jobs of all sorts nearly all recordings are placed, and none wrong."""
    right = wrong = ranks = 0
    for number in range(0, len(CAUSES) * CASES_A_CAUSE + CLEAN, 3):
        job = made_job(number)
        found = named(placed(recorded(job, tmp_path / str(number)), made_timelines(job, ERROR_US)))
        ranks += job.case.world
        right += sum(address == address_of(rank) for rank, address in found.items())
        wrong += sum(address != address_of(rank) for rank, address in found.items())
    assert wrong == 0
    assert right >= 0.95 * ranks
