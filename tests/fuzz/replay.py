"""Run a target over its regression inputs and over seeded damage: `python -m tests.fuzz.replay TARGET COUNT SEED`.

With NUMBA_BOUNDSCHECK=1 in the environment the compiled kernels check every index, which coverage-guided fuzzing,
being uncompiled, cannot show of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fuzz.mutation import mutated
from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import TARGETS

REGRESSIONS = Path(__file__).parent / "regressions"


def replay(name: str, count: int, seed: int) -> int:
    """How many inputs were run; what breaks a promise raises."""
    known = [path.read_bytes() for path in sorted((REGRESSIONS / name).glob("*"))]
    seeds = SEEDS[name]()
    ran = 0
    for content in (*known, *seeds, *mutated(seeds, count, seed)):
        TARGETS[name](content)
        ran += 1
    return ran


if __name__ == "__main__":
    sys.stdout.write(str(replay(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
