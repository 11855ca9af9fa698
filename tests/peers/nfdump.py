"""nfcapd and sfcapd, collecting on the loopback address of a namespace, and what nfdump reads in their files."""

from __future__ import annotations

import csv
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.capture.live.namespaces import Namespace

PORT = 9995
Row = tuple[str, str, int, int, int, int]  # source, destination, ports, bytes, packets
_PATIENCE_S = 20.0


@contextmanager
def capturing(space: Namespace, daemon: str, folder: Path) -> Iterator[None]:
    """`nfcapd` or `sfcapd`, writing into `folder` until the end, and then all of it."""
    folder.mkdir()
    command = ["ip", "netns", "exec", space.name, daemon, "-b", "127.0.0.1", "-p", str(PORT), "-w", str(folder)]
    log = folder.with_suffix(".log")
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            until = time.monotonic() + _PATIENCE_S
            while f"127.0.0.1:{PORT}" not in space.run("ss", "-Huln"):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, f"{daemon} does not listen: {log.read_text()}"
                time.sleep(0.05)
            yield
            _drained(space)
        finally:
            process.terminate()
            process.wait(_PATIENCE_S)


def records(folder: Path) -> Counter[Row]:
    """All records of a folder, as `nfdump` prints them for other programs."""
    command = ["nfdump", "-R", str(folder), "-o", "csv"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = csv.DictReader(done.stdout.splitlines())
    whole = [line for line in lines if line["tr"] is not None]  # the summary behind them is shorter
    return Counter(
        (line["sa"], line["da"], int(line["sp"]), int(line["dp"]), int(line["ibyt"]), int(line["ipkt"]))
        for line in whole
    )


def _drained(space: Namespace) -> None:
    """Wait until its socket holds nothing that it has not read."""
    until = time.monotonic() + _PATIENCE_S
    while any(line.split()[1] != "0" for line in space.run("ss", "-Huln", f"sport = :{PORT}").splitlines()):
        assert time.monotonic() < until, "it does not read its socket"
        time.sleep(0.05)
    time.sleep(0.2)
