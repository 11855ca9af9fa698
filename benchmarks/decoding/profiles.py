"""How fast a core reads profiles, and in how much memory.

usage: python -m benchmarks.decoding.profiles [--megabytes N] [--ranks N]

A recording of some ranks of a made job, whose events come again and again until the file has N megabytes; 100
times make an iteration.
A process of its own reads the folder, compiled code at hand: processor time, and what its memory grew by.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from flowprism.profiles.folder import read_profiles, read_recordings
from flowprism.profiles.reading import report_profiles
from tests.diagnose.profiles.made_profiles import case_of, write_case

TURNS = 100


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=150, help="size of each file")
    parser.add_argument("--ranks", type=int, default=4, help="number of files, at most 8")
    parser.add_argument("--read", type=Path, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        read(*arguments.read)
        return
    with tempfile.TemporaryDirectory() as name:
        short, long = Path(name) / "short", Path(name) / "long"
        short.mkdir()
        long.mkdir()
        write_case(case_of(0), short)
        for file in sorted(short.iterdir())[: arguments.ranks]:
            repeat(file, long, arguments.megabytes * 10**6)
        subprocess.run([sys.executable, "-m", "benchmarks.decoding.profiles", "--read", short, long], check=True)


def repeat(file: Path, folder: Path, size: int) -> None:
    """Write a recording with its events again and again, each time later, to so many bytes."""
    text = (gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()).decode()
    document = json.loads(text)
    events = document.pop("traceEvents")
    spans = [event for event in events if event["ph"] == "X" and not event["name"].startswith("ProfilerStep#")]
    lasting_us = max(float(one["ts"]) for one in spans) - min(float(one["ts"]) for one in spans) + 1000
    (step, *_) = (event for event in events if event["name"].startswith("ProfilerStep#"))
    with (folder / file.name.removesuffix(".gz")).open("w") as out:
        out.write(json.dumps(document)[:-1] + ', "traceEvents": [\n')
        out.write(",\n".join(json.dumps(event) for event in events if event["ph"] != "X"))
        turn = 0
        while out.tell() < size:
            out.writelines(",\n" + json.dumps(one | {"ts": later(one, turn * lasting_us)}) for one in spans)
            if turn % TURNS == 0:
                whole = {"name": f"ProfilerStep#{turn // TURNS}", "dur": round(TURNS * lasting_us, 3)}
                out.write(",\n" + json.dumps(step | whole | {"ts": later(step, turn * lasting_us)}))
            turn += 1
        out.write("\n]}")


def later(event: dict[str, object], by_us: float) -> float:
    """When an event begins, us, so much later."""
    return round(float(str(event["ts"])) + by_us, 3)


def read(short: Path, long: Path) -> None:
    """Read both folders, the first one to compile, and print what the second one took."""
    report_profiles(*read_profiles(short))
    sizes = [file.stat().st_size for file in long.iterdir()]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    found = read_recordings(long, with_activities=False)
    seconds = time.process_time() - begin
    iterations = sum(len(profile.steps) for profile in found.profiles)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    begin = time.process_time()
    report = report_profiles(found.profiles, found.problems, works=found.works)
    whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{len(sizes)} files of {max(sizes) / 1e6:.0f} MB, {iterations:,} iterations, {len(found.problems)} problems")
    print(f"read at {sum(sizes) / 1e6 / seconds:.0f} MB/s, compared in {time.process_time() - begin:.1f} s")
    print(f"memory grew by {grown / 1e6:.0f} MB while reading, {grown / max(sizes):.2f} times the largest file")
    print(f"the whole process: {whole / 1e6:.0f} MB, {whole / max(sizes):.2f} times; {report.summary}")


if __name__ == "__main__":
    main()
