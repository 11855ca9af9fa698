"""Breaks each rule in a copy of the packages, analyses a few cases with it and prints what it cost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.mutations.changing import mutated
from benchmarks.mutations.declared import CASES, MUTATIONS
from flowprism.evaluation.suite import named, written

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "datamodel",
    "capture",
    "reconstruct",
    "strategy",
    "diagnose",
    "storage",
    "simulate",
    "flowprism",
    "benchmarks",
)


def main() -> None:
    """Print a row a mutation; exit 1 where one is not noticed."""
    with tempfile.TemporaryDirectory() as folder:
        house, kept = Path(folder) / "house", Path(folder) / "cases"
        for package in PACKAGES:
            shutil.copytree(ROOT / package, house / package, ignore=shutil.ignore_patterns("__pycache__"))
        for cases in CASES.values():
            for case in cases:
                written(named(case), kept / case)
        survivors = sum(not _tried(house, kept, room) for room in CASES)
    sys.exit(bool(survivors))


def _tried(house: Path, kept: Path, room: str) -> bool:
    """Print what each mutation of a room costs; whether all are noticed."""
    cases = CASES[room]
    whole = _points(house, kept, cases)
    print(f"{room}, unbroken: " + " ".join(f"{case} {worth:.3f}" for case, worth in whole.items()), flush=True)
    noticed = True
    for mutation in (m for m in MUTATIONS if m.module.startswith(room)):
        path = house / f"{mutation.module.replace('.', '/')}.py"
        source = path.read_text()
        path.write_text(mutated(source, mutation))
        found = _points(house, kept, cases)
        path.write_text(source)
        hit = [case for case in cases if found[case] < whole[case]]
        drop = sum(whole[case] - found[case] for case in cases) / len(cases)
        print(f"| `{mutation.module}.{mutation.name}` | {mutation.breaks} | {drop:.3f} | {_told(hit)} |", flush=True)
        noticed = noticed and bool(hit)
    return noticed


def _points(house: Path, kept: Path, cases: tuple[str, ...]) -> dict[str, float]:
    """What each case is worth to the packages in `house`, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.mutations.points", str(kept), *cases]
    environment = os.environ | {"PYTHONPATH": str(house)}
    done = subprocess.run(command, check=False, cwd=house, env=environment, capture_output=True, text=True)
    if done.returncode:
        return dict.fromkeys(cases, 0.0)  # an analysis that cannot even start has noticed
    return dict(json.loads(done.stdout))


def _told(hit: Iterable[str]) -> str:
    return ", ".join(hit) or "**not noticed**"


if __name__ == "__main__":
    main()
