"""The lakes that scans are measured on: clusters that go on for longer, every record committed once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.service.scans import WRITERS, collect, lasting
from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows
from simulate.scenario_runs import EPOCH_NS
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.cluster import WINDOW_S, cluster
from storage.lake.lake_reader import read_lake
from storage.lake.snapshot import snapshot


def test_jobs_go_on_for_longer() -> None:
    """As many minutes, as many times the iterations; faults and jobs are those of the cluster."""
    minute, long = cluster(ScenarioOptions(gpus=1000)), lasting(1000, 3 * WINDOW_S - 1)
    assert (long.window_s, long.faults) == (3 * WINDOW_S - 1, minute.faults)
    iterations = [[job.attempts[0].iterations for job in made.jobs] for made in (minute, long)]
    assert [3 * count for count in iterations[0]] == iterations[1]


def test_every_record_is_committed_once(tmp_path: Path) -> None:
    """By the writer of its exporter, whatever the order of records."""
    end_ns = EPOCH_NS + np.random.default_rng(1).permutation(500) * 20_000_000
    exporter = np.arange(500) % 3 + 1
    times = {"time_flow_start_ns": end_ns - 1000, "time_flow_end_ns": end_ns, "sampler_address": exporter}
    ends = {"src_addr": np.zeros(500), "dst_addr": np.full(500, 4), "bytes": np.arange(500)}
    collect(Flows(Frame(FLOWS, times | ends), tuple(f"10.0.0.{n}" for n in range(5))), tmp_path)
    assert sorted(read_lake(tmp_path).flows.frame["bytes"].tolist()) == list(range(500))
    assert len([writer for writer in snapshot(tmp_path).heads if writer.worker < WRITERS]) >= WRITERS
