"""`flowprism compact` packs a collected folder, forgets what is old, and says what there is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datamodel.errors import InputError
from flowprism.cli.actions.service import compact
from storage.lake.retention import DEFAULT_LIMITS, Limit
from storage.lake.snapshot import snapshot
from tests.storage.lake.test_lake_writer import kept, opened
from tests.storage.records import batch, counters, flows

DAY_NS = 86_400_000_000_000
COMMAND = [sys.executable, "-c", "from flowprism.cli import main; main()", "compact"]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A collected folder."""
    store = opened(tmp_path / "lake")
    store.commit(batch(flows(1000), counters(3)))
    store.commit(batch(flows(1000, first=1000)))
    return tmp_path / "lake"


def test_one_round(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is fresh stays as it is; the table counts it."""
    compact.compact_lake(str(lake), compact.parse_limits([], forever=False), None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:4] == ["flows", "2,000", "2", "0"]
    assert lines[2].split()[:4] == ["counters", "3", "1", "0"]
    assert kept(lake) == list(range(2000))


def test_limits_are_kept(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Records of a kind that may take no room go, and that is told."""
    compact.compact_lake(str(lake), compact.parse_limits(["flows=1d,0M"], forever=True), None)
    told = capsys.readouterr()
    assert told.err == "removed 2,000 records of flows: beyond the bytes kept\n"
    assert kept(lake) == []
    assert len(snapshot(lake).of_kind("counters")) == 1


def test_limits_as_typed() -> None:
    """An age and a size for each kind; what is not named is kept as usual, or for ever."""
    assert compact.parse_limits(["flows=36h,2T"], forever=True) == {"flows": Limit(DAY_NS * 3 // 2, 2 << 40)}
    assert compact.parse_limits(["spans=3d"], forever=False) == {**DEFAULT_LIMITS, "spans": Limit(3 * DAY_NS, None)}


@pytest.mark.parametrize("wrong", ["flows", "flows=2", "flows=2w", "colours=2d", "flows=2d,5", "flows=2d,"])
def test_wrong_limits_are_named(wrong: str) -> None:
    """What is no limit is one line."""
    with pytest.raises(InputError, match=f"^--limit {wrong}: expected KIND=AGE"):
        compact.parse_limits([wrong], forever=False)


def test_a_lake_that_is_none(tmp_path: Path) -> None:
    """A folder without manifest is named, with exit code 2."""
    done = subprocess.run([*COMMAND, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"flowprism: {tmp_path}: not a folder of collected records: it has no manifest\n"


def test_going_on_until_told_to_stop(lake: Path) -> None:
    """With --every it goes on until SIGTERM, and then says what there is."""
    with subprocess.Popen([*COMMAND, str(lake), "--every", "1"], stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (lake / "keeper.lock").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.startswith("kind")
