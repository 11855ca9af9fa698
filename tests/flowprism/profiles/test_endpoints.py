"""Profiles become endpoints by host and GPU; none becomes another's."""

from pathlib import Path

import pytest

from capture.profiles.kineto import profile_of
from capture.profiles.trace_file import read_trace_file
from datamodel.inventory import Endpoint, Host, Inventory
from datamodel.profiles import Profile
from flowprism.profiles.endpoints import places_of
from flowprism.profiles.folder import read_profiles
from tests.diagnose.profiles.made_profiles import case_of, write_case

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
