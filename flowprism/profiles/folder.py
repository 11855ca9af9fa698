"""A folder of recordings -> profiles of ranks, and one line for each file that is none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from capture.profiles.kineto import profile_of
from capture.profiles.trace_file import read_trace_file
from datamodel.errors import InputError
from datamodel.frame import empty
from datamodel.telemetry.profiles import PROFILE_ACTIVITIES, Profile
from diagnose.profiles.account import RankWork, work_of

SUFFIXES = (".json", ".json.gz", ".json.zst", ".trace", ".trace.gz")


class Recordings(NamedTuple):
    """What a folder holds.

    Attributes:
        profiles: in order of rank, then of file.
        problems: why other files, or parts of them, could not be used.
        works: what each rank did, by file, where profiles are without activities.
    """

    profiles: list[Profile]
    problems: list[str]
    works: dict[str, RankWork]


def read_profiles(folder: Path) -> tuple[list[Profile], list[str]]:
    """Profiles in order of rank, then of file; and why others, or parts of them, could not be used.

    Raises:
        InputError: there is no such folder, or no file of a trace's name in it.
    """
    found = read_recordings(folder)
    return found.profiles, found.problems


def read_recordings(folder: Path, *, with_activities: bool = True) -> Recordings:
    """Read a folder of recordings, file by file.

    Args:
        folder: holds one file or more of each rank.
        with_activities: keep them in the profiles; else what each rank did is summed up once its file is read, so that
            memory does not grow with the number of ranks.

    Raises:
        InputError: there is no such folder, or no file of a trace's name in it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder")
    files = sorted(path for path in folder.rglob("*") if path.name.endswith(SUFFIXES) and path.is_file())
    if not files:
        raise InputError(f"{folder}: holds no file that ends in {', '.join(SUFFIXES)}")
    profiles: list[Profile] = []
    problems: list[str] = []
    works: dict[str, RankWork] = {}
    for file in files:
        name = os.fsencode(file.relative_to(folder).as_posix()).decode(errors="replace")
        try:
            trace = read_trace_file(file)
            profile = profile_of(trace, name)
        except InputError as error:
            problems.append(f"{name}: {str(error).removeprefix(f'{file}: ').removeprefix(f'{name}: ')}")
            continue
        if trace.problem:
            problems.append(f"{name}: {trace.problem}")
        if not with_activities:
            works[name] = work_of(profile)
            profile = replace(profile, activities=empty(PROFILE_ACTIVITIES))
        profiles.append(profile)
    return Recordings(_once(profiles, problems), problems, works)


def _once(profiles: list[Profile], problems: list[str]) -> list[Profile]:
    """One profile a rank: of several the one with the most iterations."""
    ordered = sorted(profiles, key=lambda one: (one.rank is None, one.rank or 0, -len(one.steps), one.name))
    kept: list[Profile] = []
    for profile in ordered:
        if profile.rank is not None and kept and kept[-1].rank == profile.rank:
            problems.append(f"{profile.name}: rank {profile.rank} again, {kept[-1].name} is used")
        else:
            kept.append(profile)
    return kept
