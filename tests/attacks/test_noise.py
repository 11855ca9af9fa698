"""Noise at 200,000 datagrams a second beside a recorded job's feed: every datagram counted, the verdict unchanged."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

from capture.exporters.datagram import Datagrams
from flowprism.demo.demo_feed import build_datagrams, load_bundled
from flowprism.replay.send_schedule import SendPace
from flowprism.replay.sender import send
from tests.flowprism.collector.running import Collector
from tests.flowprism.service.running import memory_bytes, wait_for
from tests.flowprism.service.scans.feeding import fabric
from tests.flowprism.test_collect import COMMAND
from tests.house.checkout import ROOT

pytestmark = pytest.mark.slow

RATE, NOISE_S = 200_000, 20
QUIET_S = 3.0  # of the feed's end, which comes without noise: sequence numbers show a loss by what follows it
NO_EXPORT = "not an export datagram of a protocol that is decoded"
TO_COME_UP_S = 300.0
SIZES = ("dp", "tp", "pp", "ep", "cp")

SEND_NOISE = """
import sys
import numpy as np
from flowprism.replay.send_schedule import SendPace
from flowprism.replay.sender import send
from tests.capture.batches import arrived
port, rate, seconds = map(int, sys.argv[1:])
content = np.random.default_rng(1).bytes(200 * 4096)
batch = arrived([b"\\xff" * 4 + content[200 * n : 200 * n + 196] for n in range(4096)], [0] * 4096)
sent = send((batch for _ in range(rate * seconds // 4096)), "127.0.0.1", port, SendPace(per_s=rate))
print(sent.datagrams, round(sent.datagrams / sent.seconds))
"""


@dataclass
class CollectedFeed:
    """What a collector made of the feed.

    Attributes:
        report: `flowprism analyze`'s.
        status: the collector's, at the end.
        noise: datagrams of noise sent.
        per_second: how many of them in a second.
        feed: datagrams of the feed sent.
        records: in them.
        grown: bytes of memory more than before the noise.
    """

    report: dict[str, Any]
    status: dict[str, Any]
    noise: int
    per_second: int
    feed: int
    records: int
    grown: int


def collect_with_noise(folder: Path, noise_per_s: int) -> CollectedFeed:
    """Play the bundled capture as it was, with or without noise, and analyze what was collected."""
    settings = {"decoder": "capture.export_decoder:ExportDecoder", "buffer_bytes": 64 << 20, "ring_bytes": 64 << 20}
    bursts = load_bundled(fabric())
    feed = build_datagrams(bursts, time.time_ns(), Counter[int]())
    last = feed.index["time_ns"].max() - round(QUIET_S * 1e9)
    early = feed.index["time_ns"] <= last
    parts = [Datagrams(feed.data, feed.index[chosen]) for chosen in (early, ~early)]
    with Collector(folder / "lake", options={**settings, "commit_every_s": 1.0}) as collector:
        wait_for(lambda: (collector.status() or {})["workers"][0]["is_decoding"], TO_COME_UP_S)
        assert collector.process is not None
        before, noise, per_second = memory_bytes(collector.process.pid), 0, 0
        if noise_per_s:
            arguments = [str(n) for n in (collector.port(), noise_per_s, NOISE_S)]
            with subprocess.Popen(
                [sys.executable, "-c", SEND_NOISE, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
            ) as noisy:
                wait_for(lambda: collector.totals()["received"] > 0)
                send(parts[:1], "127.0.0.1", collector.port(), SendPace())
                noise, per_second = map(int, noisy.communicate(timeout=TO_COME_UP_S)[0].split())
        else:
            send(parts[:1], "127.0.0.1", collector.port(), SendPace(per_s=1000))
        send(parts[1:], "127.0.0.1", collector.port(), SendPace())
        offered = noise + len(feed)
        wait_for(lambda: collector.totals()["durable"] + collector.totals()["kernel_drops"] >= offered, TO_COME_UP_S)
        grown = memory_bytes(collector.process.pid) - before
        collector.stop()
        status = collector.status()
    assert status is not None
    with as_file(files("flowprism.demo") / "inventory.yaml") as inventory:
        options = ["--inventory", str(inventory), "--format", "json", "--out", str(folder / "report.json")]
        subprocess.run([*COMMAND, "analyze", str(folder / "lake"), *options], check=True, cwd=ROOT)
    report = json.loads((folder / "report.json").read_text())
    return CollectedFeed(report, status, noise, per_second, len(feed), len(bursts.rows), grown)


def verdict(report: dict[str, Any]) -> object:
    """What a report says is the case.

    Probabilities of layouts are left out: the collector may lose up to 1 % of the feed's records to the noise, and a
    posterior moves with every record.
    """
    jobs = [(job["endpoints"], {size: job["layout"][size] for size in SIZES}) for job in report["jobs"]]
    return jobs, [(f["kind"], f["cause"], f["severity"], f["subject"]) for f in report["findings"]]


def iteration_counts(report: dict[str, Any]) -> list[int]:
    """Iterations of each job; the window's first or last one may fall to a lost record."""
    return [len(job["iterations"]) for job in report["jobs"]]


def test_noise_changes_no_verdict(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """What was offered was received or is counted as dropped; what the feed lost is counted by its own numbers."""
    for name in ("quiet", "noisy"):
        (tmp_path / name).mkdir()
    quiet, noisy = collect_with_noise(tmp_path / "quiet", 0), collect_with_noise(tmp_path / "noisy", RATE)
    totals = noisy.status["totals"]
    lost = sum(exporter["lost"] for exporter in noisy.status["exporters"])
    figures = {"noise a second": noisy.per_second, "accepted": totals["received"], "dropped": totals["kernel_drops"]}
    for name, value in {**figures, "records lost": lost, "memory": noisy.grown}.items():
        record_property(name, value)
    assert totals["received"] + totals["kernel_drops"] == noisy.noise + noisy.feed
    assert totals["received"] == totals["durable"]
    assert totals["records"] + lost == noisy.records
    assert set(noisy.status["rejected"]) <= {NO_EXPORT}
    assert noisy.status["rejected"][NO_EXPORT] >= noisy.noise - totals["kernel_drops"]
    assert noisy.grown < 400 << 20  # the ring counts twice, for both processes map it
    if lost * 100 > noisy.records:
        pytest.skip(f"this machine takes {noisy.per_second} datagrams/s with loss; all of it is counted")
    assert verdict(noisy.report) == verdict(quiet.report)
    assert iteration_counts(noisy.report) == pytest.approx(iteration_counts(quiet.report), abs=1)
