"""What fuzzing once found stays mended, and damaged inputs break no promise, with every index checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.replay import replay
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
SLOW_INPUTS = 6_000


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_regressions_and_damaged_seeds_keep_the_promises(name: str) -> None:
    """Every input that once broke something, and 150 damaged ones."""
    assert replay(name, 150, seed=1) >= 150


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TARGETS.keys() - {"text"}))  # no kernel has a part in it
def test_compiled_kernels_stay_within_their_arrays(name: str, bounds_checked: dict[str, str]) -> None:
    """The same with the compiler's bounds checks on, over many more."""
    command = [sys.executable, "-W", "error", "-m", "tests.fuzz.replay", name, str(SLOW_INPUTS), "2"]
    done = subprocess.run(command, cwd=ROOT, env=bounds_checked, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) >= SLOW_INPUTS
