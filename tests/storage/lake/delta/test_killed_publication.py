"""`kill -9` during commits, packing and publication leaves tables that any engine reads, and no row lost or twice."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from storage.lake.compactor import GRACE_NS, Compactor
from storage.lake.object_names import make_folders
from tests.storage.lake import working
from tests.storage.lake.delta.foreign import delta_table
from tests.storage.lake.test_killed import Nursery, folder, in_segments

__all__ = ["folder"]


def numbers(folder: Path) -> list[int]:
    """The number of each flow record in the table, sorted; none before its first version."""
    if not list((folder / "segments" / "flows" / "_delta_log").glob("*.json")):
        return []
    return sorted(delta_table(folder, "flows").to_pyarrow_table(columns=["bytes"])["bytes"].to_pylist())


def kill_publications(folder: Path, rounds: int) -> None:
    """After each kill the table is what was committed at some moment, and after the next round what is committed."""
    make_folders(folder)
    nursery = Nursery()
    done, tended = nursery.counter(), nursery.counter()
    before = 0
    for _ in range(rounds):
        begun_at, tended_at = done.value, tended.value
        targets = [(working.write, (folder, done)), (working.keep, (folder, tended))]
        nursery.kill(targets, lambda a=begun_at, b=tended_at: done.value > a and tended.value > b)  # type: ignore[misc]
        found = numbers(folder)
        assert found == list(range(len(found)))
        assert before <= len(found) <= len(in_segments(folder)[1])
        with closing(Compactor(folder, {}, grace_ns=GRACE_NS)) as compactor:
            compactor.run_round()
        assert numbers(folder) == in_segments(folder)[1]
        before = len(numbers(folder))


def test_killed_publications(folder: Path) -> None:
    """A few rounds of what the slow test does for long."""
    kill_publications(folder, 3)


@pytest.mark.slow
def test_killed_publications_for_long(folder: Path) -> None:
    """Twenty-four kills, in three lakes."""
    for lake in map(str, range(3)):
        kill_publications(folder / lake, 8)
        shutil.rmtree(folder / lake)
