"""Profiles become endpoints by host and GPU; none becomes another's."""

from dataclasses import replace
from pathlib import Path

import pytest

from capture.profiles.kineto import profile_of
from capture.profiles.trace_file import read_trace_file
from datamodel.cluster.inventory import Endpoint, Host, Inventory
from datamodel.telemetry.profiles import Profile
from flowprism.profiles.endpoints import place_all, places_of
from flowprism.profiles.folder import read_profiles
from tests.diagnose.profiles.made_profiles import (
    MadeJob,
    address_of,
    case_of,
    made_timelines,
    write_case,
    write_recordings,
)  # fmt: skip

SHARED_BY_TWO = Inventory(
    hosts=tuple(
        Host(
            name=f"node{n}.example",
            endpoints=(Endpoint(address=f"10.0.{n}.1", gpu=(0, 1)), Endpoint(address=f"10.0.{n}.2", gpu=(2, 3))),
        )
        for n in range(2)
    )
)


def profile(folder: Path, name: str, gpu: int) -> Profile:
    """A recording of one kernel."""
    (folder / name).write_text(f'[{{"ph":"X","cat":"kernel","name":"k","pid":{gpu},"tid":7,"ts":1,"dur":1}}]')
    return profile_of(read_trace_file(folder / name), name)


def test_host_and_gpu_name_the_endpoint(tmp_path: Path) -> None:
    """Names of hosts match with or without their domain."""
    write_case(case_of(1), tmp_path)
    profiles, _ = read_profiles(tmp_path)
    places = places_of(profiles, SHARED_BY_TWO)
    assert [place.endpoint for place in places[:8] if place] == [
        f"10.0.{n}.{nic}" for n in (0, 1) for nic in (1, 1, 2, 2)
    ]


@pytest.mark.parametrize(
    ("name", "gpu"), [("node7_1.json", 0), ("rank.json", 0), ("node0_1.json", 5)], ids=["host", "no host", "gpu"]
)
def test_what_the_inventory_does_not_know_has_no_place(tmp_path: Path, name: str, gpu: int) -> None:
    """Nothing is guessed."""
    assert places_of([profile(tmp_path, name, gpu)], SHARED_BY_TWO) == [None]


def test_processes_that_see_one_gpu_each_have_no_place(tmp_path: Path) -> None:
    """All of a host count theirs as the first."""
    alike = [profile(tmp_path, f"node0_{n}.json", 0) for n in range(2)]
    assert places_of(alike, SHARED_BY_TWO) == [None, None]


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 8])
def test_groups_give_the_rank_that_a_file_leaves_out(tmp_path: Path, number: int) -> None:
    """The one rank that is in all groups of a recording; where several are, none is taken."""
    case = case_of(number)
    write_case(case, tmp_path, ranks=False)
    profiles, _ = read_profiles(tmp_path)
    _, dp, _ = case.layout
    expected = [None] * case.world if dp == case.world else list(range(case.world))
    assert sorted((one.rank for one in profiles), key=str) == sorted(expected, key=str)
    assert all(one.rank is None or f"_{4000 + one.rank}." in one.name for one in profiles)


def test_index_and_collectives_that_disagree_name_nothing(tmp_path: Path) -> None:
    """Two NICs that the inventory has at each other's GPU; the others are where both ways say."""
    job = MadeJob(case_of(1))
    job.run(7, 9)
    write_recordings(job, tmp_path)
    profiles, _ = read_profiles(tmp_path)
    ranks = [1, 0, *range(2, job.case.world)]
    crossed = Inventory(
        hosts=tuple(
            Host(
                name=f"node{host}",
                endpoints=tuple(Endpoint(address=address_of(ranks[4 * host + n]), gpu=n) for n in range(4)),
            )
            for host in range(job.case.world // 4)
        )
    )
    placed = place_all(profiles, crossed, made_timelines(job, error_us=3.0))
    assert [place and place.endpoint for place in placed.places] == [None, None, *map(address_of, ranks[2:])]
    assert placed.problems[0].endswith("its GPU's index gives GPU 0 of node0, its collectives give GPU 1 of node0")
    assert len(placed.problems) == 2
    silent = replace(profiles[0], collectives=profiles[0].collectives.take([False] * len(profiles[0].collectives)))
    placed = place_all([silent, *profiles[1:]], crossed, made_timelines(job, error_us=3.0))
    assert placed.places[:3] == (None, None, placed.places[2])
    assert placed.problems[0].endswith("its GPU's index gives GPU 0 of node0, where another profile's collectives are")


def test_a_host_that_is_known_leaves_its_own_endpoints(tmp_path: Path) -> None:
    """Where two orders of a ring fit alike, but only one has its recordings on the hosts that made them."""
    job = MadeJob(case_of(1), late_posting=True)
    job.run(7, 9)
    write_recordings(job, tmp_path, ranks=False)
    profiles, _ = read_profiles(tmp_path)
    hosts = tuple(
        Host(name=f"node{n}", endpoints=tuple(Endpoint(address=address_of(4 * n + k)) for k in range(4)))
        for n in range(job.case.world // 4)
    )
    timelines = made_timelines(job, error_us=3.0)
    assert set(place_all(profiles, Inventory(), timelines).places) == {None}
    placed = place_all(profiles, Inventory(hosts=hosts), timelines)
    assert [place and place.endpoint for place in placed.places] == list(map(address_of, range(job.case.world)))
