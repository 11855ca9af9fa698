"""Records that span the pauses of training hide its rhythm; the analysis says so instead of guessing."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.periods.hidden_pauses import hides_pauses
from reconstruct.streams.stream_builder import build_streams

PERIOD_NS, BURST_NS = 1_000_000_000, 200_000_000


def records(duration_ns: int, every_ns: int, payload: int = -1, count: int = 40) -> Flows:
    """Records of a ring of four endpoints, one every so often from each to the next."""
    number = np.tile(np.arange(count), 4)
    source = np.repeat(np.arange(4), count)
    start_ns = number * every_ns + source
    columns = {
        "time_flow_start_ns": start_ns,
        "time_flow_end_ns": start_ns + duration_ns,
        "src_addr": source,
        "dst_addr": (source + 1) % 4,
        "src_port": np.full(len(number), 1000),
        "proto": np.full(len(number), 6),
        "bytes": np.full(len(number), 5_000_000),
        "packets": np.full(len(number), 4000),
        "payload_bytes": np.full(len(number), payload),
    }
    return Flows(Frame(FLOWS, columns), ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"))


@pytest.mark.parametrize(("duration_ns", "every_ns", "hidden"), [
    (BURST_NS, PERIOD_NS, False), (1_900_000_000, 2_000_000_000, True), (3 * PERIOD_NS, PERIOD_NS, True),
])  # fmt: skip
def test_records_that_leave_no_pause_are_smeared(duration_ns: int, every_ns: int, hidden: bool) -> None:
    """A record a burst leaves the pauses between them; records cut by a timeout, or that overlap, do not."""
    found = hides_pauses(build_streams(records(duration_ns, every_ns)))
    assert found.tolist() == [hidden] * 4


@pytest.mark.parametrize("count", [18, 120])
def test_a_hole_in_what_was_seen_is_no_rhythm(count: int) -> None:
    """Records that leave no pause, but one: a checkpoint, or what an exporter lost."""
    flows = records(1_900_000_000, 2_000_000_000, count=count)
    later = np.where(flows.frame["time_flow_start_ns"] > count * PERIOD_NS, 3_000_000_000, 0)
    times = {name: flows.frame[name] + later for name in ("time_flow_start_ns", "time_flow_end_ns")}
    apart = Flows(flows.frame.replace(**times), flows.addresses)
    assert hides_pauses(build_streams(apart)).all()


def test_messages_that_fill_most_of_the_time_are_not_smeared() -> None:
    """Sharded training sends nearly always, but each record is one message, short beside the pause of an iteration."""
    burst = records(19_000_000, 20_000_000, count=400)
    start_ns = burst.frame["time_flow_start_ns"] + burst.frame["time_flow_start_ns"] // 800_000_000 * 200_000_000
    apart = burst.frame.replace(time_flow_start_ns=start_ns, time_flow_end_ns=start_ns + 19_000_000)
    assert not hides_pauses(build_streams(Flows(apart, burst.addresses))).any()


def test_a_link_that_turns_slow_smears_nothing() -> None:
    """From then on its messages last longer than any pause before; the records before show the pauses."""
    flows = records(200_000_000, PERIOD_NS, count=120)
    number = flows.frame["time_flow_start_ns"] // PERIOD_NS
    start_ns = np.where(number < 50, number * PERIOD_NS, (5 * number - 200) * PERIOD_NS)
    duration_ns = np.where(number < 50, 200_000_000, 5 * PERIOD_NS)
    slow = flows.frame.replace(time_flow_start_ns=start_ns, time_flow_end_ns=start_ns + duration_ns)
    assert not hides_pauses(build_streams(Flows(slow, flows.addresses))).any()


def test_packet_trains_are_never_smeared() -> None:
    """A mirror cuts its rows at every pause, so rows that touch mean that there was none."""
    assert not hides_pauses(build_streams(records(PERIOD_NS, PERIOD_NS, payload=5_000_000))).any()


def test_a_single_record_says_nothing() -> None:
    """It covers its own time and no other."""
    assert not hides_pauses(build_streams(records(PERIOD_NS, PERIOD_NS, count=1))).any()


def test_no_job_is_made_of_smeared_records_and_the_reason_is_told() -> None:
    """Equal bytes come back every two seconds, but that is the exporter's timeout, not the training's rhythm."""
    streams = build_streams(records(1_900_000_000, 2_000_000_000))
    found = find_jobs(streams, frozenset(), JobOptions(), hidden=hides_pauses(streams))
    assert found.jobs == ()
    ((reason, endpoints),) = found.unassigned.items()
    assert reason == "records span the pauses between bursts (cut by timeouts, not by message)"
    assert endpoints.tolist() == [0, 1, 2, 3]


def test_messages_longer_than_every_pause_make_a_job() -> None:
    """Ranks that share a NIC send most of the time; records of whole messages keep their rhythm."""
    (job,) = find_jobs(build_streams(records(1_900_000_000, 2_000_000_000)), frozenset(), JobOptions()).jobs
    assert len(job.endpoints) == 4


@pytest.mark.parametrize(("slower", "hidden"), [(1.0, False), (0.7, True)])
def test_long_records_at_the_rate_of_short_ones_hold_no_pause(slower: float, hidden: bool) -> None:
    """Messages that follow one another at once are joined to ever other records; a pause inside makes one slower."""
    made = records(1, PERIOD_NS)
    lasting_ns = np.tile(np.where(np.arange(40) % 3 > 0, 900_000_000, 50_000_000), 4)
    start_ns = np.tile(np.cumsum(lasting_ns[:40] + 100_000_000) - lasting_ns[:40], 4) + made.frame["src_addr"]
    size = np.rint(lasting_ns * np.where(lasting_ns > BURST_NS, slower, 1.0)).astype(np.int64)
    columns = {"time_flow_start_ns": start_ns, "time_flow_end_ns": start_ns + lasting_ns, "bytes": size}
    found = hides_pauses(build_streams(Flows(made.frame.replace(**columns), made.addresses)))
    assert found.tolist() == [hidden] * 4
