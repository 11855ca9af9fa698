"""`flowprism analyze` on input that is unusable, damaged, or of no training; one of each also in its own process."""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.capture.frames import ACK, PSH_ACK, ethernet, ip, pcap, tcp
from tests.flowprism.command_line import Answer, Run

START_NS = 1_760_000_000 * 10**9
REQUIRED = {"time_flow_start_ns": [1], "time_flow_end_ns": [2], "src_addr": ["a"], "dst_addr": ["b"], "bytes": [9]}


def own_process(*arguments: str | Path) -> Answer:
    """The command as its entry point runs it."""
    command = [sys.executable, "-c", "from flowprism.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return Answer(done.returncode, done.stdout, done.stderr)


def assert_one_line(done: Answer, message: str) -> None:
    """The whole answer is one line on stderr and exit code 2."""
    assert done == (2, "", f"flowprism: {message}\n")


def browsing(connections: int) -> bytes:
    """A capture of people reading pages: short requests and answers of any size, whenever they like."""
    chance = random.Random(5)  # noqa: S311 - traffic, not a secret
    frames = []
    for n in range(connections):
        client, server = f"10.0.0.{chance.randint(1, 20)}", f"192.0.2.{chance.randint(1, 5)}"
        port, time_ns, sent = 40_000 + n, START_NS + chance.randrange(60 * 10**9), 1
        frames.append(
            (time_ns, ethernet(ip(6, tcp(port, 443, 1, 1, PSH_ACK, chance.randint(80, 900)), client, server)))
        )
        for _ in range(chance.randint(1, 60)):
            time_ns += chance.randint(20_000, 5_000_000)
            size = chance.randint(200, 1448)
            frames.append((time_ns, ethernet(ip(6, tcp(443, port, sent, 900, ACK, size), server, client))))
            sent += size
        acknowledgement = ethernet(ip(6, tcp(port, 443, 900, sent, ACK), client, server))
        frames.append((time_ns + 90_000, acknowledgement))
    return pcap(sorted(frames), snap=96)


def test_an_empty_file(run: Run, tmp_path: Path) -> None:
    """It holds nothing, and that is what is said."""
    path = tmp_path / "mirror.pcap"
    path.write_bytes(b"")
    assert_one_line(run("analyze", path), f"{path}: file is empty")


def test_text_named_pcap(tmp_path: Path) -> None:
    """The content counts, not the name."""
    path = tmp_path / "notes.pcap"
    path.write_text("these are my notes on the cluster\nnothing else\n")
    cause = "neither a packet capture (pcap, pcapng) nor flow records (Parquet, CSV, JSON lines)"
    assert_one_line(own_process("analyze", path), f"{path}: {cause}")


def test_a_missing_file(run: Run, tmp_path: Path) -> None:
    """Also where the file before it can be read."""
    there, missing = tmp_path / "there.pcap", tmp_path / "missing.pcap"
    there.write_bytes(browsing(2))
    assert_one_line(run("analyze", there, missing), f"{missing}: no such file")


def test_a_folder(run: Run, tmp_path: Path) -> None:
    """A folder is no input; it is named."""
    done = run("analyze", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"flowprism: {tmp_path}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("column", ["bytes", "src_addr"])
def test_parquet_without_a_required_column(run: Run, column: str, tmp_path: Path) -> None:
    """The column is named."""
    path = tmp_path / "flows.parquet"
    pq.write_table(pa.table({name: values for name, values in REQUIRED.items() if name != column}), path)
    assert_one_line(run("analyze", path), f"{path}: required column '{column}' is missing")


def test_an_inventory_with_an_address_twice(run: Run, tmp_path: Path) -> None:
    """The inventory and the address are named, before the capture is read."""
    capture, inventory = tmp_path / "mirror.pcap", tmp_path / "inventory.yaml"
    capture.write_bytes(browsing(2))
    hosts = "".join(f"  - name: s{n}\n    endpoints: [{{address: 10.1.1.1}}]\n" for n in (1, 2))
    inventory.write_text(f"schema: flowprism.inventory/v1\nhosts:\n{hosts}")
    assert_one_line(run("analyze", capture, "--inventory", inventory), f"{inventory}: address 10.1.1.1 is a duplicate")


def test_an_inventory_that_is_no_inventory(run: Run, tmp_path: Path) -> None:
    """A capture given as the inventory is one line too."""
    capture = tmp_path / "mirror.pcap"
    capture.write_bytes(browsing(2))
    done = run("analyze", capture, "--inventory", capture)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"flowprism: {capture}: ")
    assert done.stderr.count("\n") == 1


def test_unrelated_traffic_is_an_answer(run: Run, tmp_path: Path) -> None:
    """Exit code 0, no job, no finding, and for all endpoints a reason why not."""
    path, out = tmp_path / "web.pcap", tmp_path / "r.json"
    path.write_bytes(browsing(300))
    done = run("analyze", path, "--format", "json", "--out", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    report = json.loads(out.read_text())
    assert (report["jobs"], report["findings"], report["events"]) == ([], [], [])
    assert report["feed"]["records"] > 300
    assert sum(int(reason.partition(" endpoint")[0]) for reason in report["unassigned"]) == 25


def test_unrelated_traffic_says_why_there_is_no_job(run: Run, tmp_path: Path) -> None:
    """The text report's first lines are a sentence with its reason."""
    path = tmp_path / "web.pcap"
    path.write_bytes(browsing(300))
    done = run("analyze", path)
    assert done.returncode == 0
    assert re.match(r"no training job found,? because \S+", " ".join(done.stdout.lower().split()))


def test_a_truncated_gzip_is_read_as_far_as_it_goes(run: Run, tmp_path: Path) -> None:
    """A warning names the file; what precedes the end counts."""
    whole, cut = tmp_path / "whole.pcap.gz", tmp_path / "cut.pcap.gz"
    packed = gzip.compress(browsing(300), mtime=0)
    whole.write_bytes(packed)
    cut.write_bytes(packed[: len(packed) // 2])
    done = [run("analyze", path, "--format", "json") for path in (whole, cut)]
    assert [(d.returncode, d.stderr) for d in done] == [(0, "")] * 2
    full, part = (json.loads(d.stdout) for d in done)
    assert full["feed"]["warnings"] == []
    assert part["feed"]["warnings"][0].startswith("cut.pcap.gz: gzip data ends early (truncated file)")
    assert 0.3 * full["feed"]["records"] < part["feed"]["records"] < 0.7 * full["feed"]["records"]


def test_a_truncated_gzip_of_a_training_still_has_its_job(run: Run, shared: Path, tmp_path: Path) -> None:
    """Half a capture is half its iterations, not an error."""
    packed = (shared / "captures" / "s1-healthy" / "mirror.pcap.gz").read_bytes()
    path = tmp_path / "mirror.pcap.gz"
    path.write_bytes(packed[: len(packed) // 2])
    done = run("analyze", path, "--format", "json")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert any("truncated" in warning for warning in report["feed"]["warnings"])
    (job,) = report["jobs"]
    assert len(job["endpoints"]) == 16
    assert len(job["iterations"]) >= 10
