"""One clock for profiles and flows: exact where collectives link profiles, and what is not on it is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from datamodel.telemetry.profiles import Profile, ProfiledRank
from flowprism.profiles.common_clock import common_clock
from flowprism.profiles.folder import read_profiles
from tests.diagnose.profiles.made_profiles import case_of, write_case


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """Of one rank."""
    folder = tmp_path_factory.mktemp("traces")
    write_case(case_of(1), folder)
    return read_profiles(folder)[0][0]


def rank(offset_ns: int | None, flows_ahead_ns: int | None = None) -> ProfiledRank:
    """What the report says of a profile's clock."""
    return ProfiledRank(
        file="a.json", rank=0, host="s1", clock_offset_ns=offset_ns, flows_ahead_ns=flows_ahead_ns, iterations=1,
        iteration_s=1.0, peers=2, times=(),
    )  # fmt: skip


def shifts(profile: Profile, *ranks: ProfiledRank, utc: bool = True) -> tuple[tuple[int | None, ...], bool, int]:
    """Shifts, whether they are to the flows' clock, and the number of lines."""
    found = common_clock([replace(profile, utc=utc)] * len(ranks), ranks)
    return found.shifts_ns, found.of_flows, len(found.problems)


def test_without_flows_the_first_clock_counts(profile: Profile) -> None:
    """An event at the same moment has the same time."""
    assert shifts(profile, rank(0), rank(700), rank(-30)) == ((0, -700, 30), False, 0)


def test_linked_profiles_are_moved_by_the_same(profile: Profile) -> None:
    """Flows are less exact than collectives: the median of what they say moves all."""
    ranks = (rank(0, 1_000_003), rank(700, 999_300), rank(-30, 1_000_029), rank(50))
    assert shifts(profile, *ranks) == ((1_000_000, 999_300, 1_000_030, 999_950), True, 0)


def test_unlinked_profile_has_the_flows_clock_of_its_own(profile: Profile) -> None:
    """Or its host's, with a line."""
    assert shifts(profile, rank(0, 10**9), rank(None, 500), rank(None)) == ((10**9, 500, 0), True, 1)


def test_where_only_an_unlinked_profile_is_placed_the_others_are_apart(profile: Profile) -> None:
    """Their collectives say nothing of the flows' clock."""
    assert shifts(profile, rank(0), rank(40), rank(None, 500)) == ((0, 0, 500), True, 2)


def test_clock_that_counts_from_a_hosts_start_is_no_common_one(profile: Profile) -> None:
    """A profile that nothing links is left out."""
    assert shifts(profile, rank(0), rank(None), utc=False) == ((0, None), False, 1)
    assert not common_clock([replace(profile, utc=False)], [rank(0)]).utc


def test_no_profile_is_no_error() -> None:
    """There is nothing to compare."""
    assert common_clock([], []).shifts_ns == ()


def test_clocks_of_read_profiles_are_those_of_their_files(tmp_path: Path) -> None:
    """All count from 1970."""
    write_case(case_of(3), tmp_path)
    assert all(one.utc for one in read_profiles(tmp_path)[0])
