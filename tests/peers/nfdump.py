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
from tests.peers.daemon import PATIENCE_S, daemon

PORT = 9995
Row = tuple[str, str, int, int, int, int]  # source, destination, ports, bytes, packets


@contextmanager
def capturing(space: Namespace, program: str, folder: Path) -> Iterator[None]:
    """`nfcapd` or `sfcapd`, writing into `folder` until the end, and then all of it."""
    folder.mkdir()
    command = [program, "-b", "127.0.0.1", "-p", str(PORT), "-w", str(folder)]
    with daemon(space, command, folder.with_suffix(".log"), lambda: bool(_waiting(space))):
        yield
        until = time.monotonic() + PATIENCE_S
        while any(_waiting(space)):
            assert time.monotonic() < until, f"{program} does not read its socket"
            time.sleep(0.05)


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


def _waiting(space: Namespace) -> list[int]:
    """Bytes not yet read from each socket on the port; none before it is opened."""
    told = space.run("ss", "-Huln", f"sport = :{PORT}")
    return [int(line.split()[1]) for line in told.splitlines()]
