"""Members of one collective share a cycle, also those in which it cannot be heard."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame, concat
from datamodel.reconstructed.streams import Streams
from datamodel.telemetry.flows import FLOWS, TCP, Flows
from reconstruct.periods.byte_period import StreamPeriods
from reconstruct.periods.cycles import cut_cycles
from reconstruct.periods.shared_period import adopt_shared_period
from reconstruct.streams.stream_builder import build_streams

MS, MESSAGE_BYTES, CYCLES = 1_000_000, 1_000_000, 20


def ring(members: int, between_ns: int = 0) -> Streams:
    """Streams of twelve messages a cycle, with a pause in the middle and a long one behind each cycle."""
    return build_streams(ring_records(members, between_ns))


def ring_records(members: int, between_ns: int = 0) -> Flows:
    """The records of `ring`."""
    number = np.tile(np.arange(12 * CYCLES), members)
    source = np.repeat(np.arange(members), 12 * CYCLES)
    start_ns = number * (MS + between_ns) + number // 6 * 30 * MS + number // 12 * 100 * MS
    columns = {
        "time_flow_start_ns": start_ns,
        "time_flow_end_ns": start_ns + MS,
        "src_addr": source,
        "dst_addr": (source + 1) % members,
        "src_port": np.full(len(number), 1000),
        "proto": np.full(len(number), TCP),
        "bytes": np.full(len(number), MESSAGE_BYTES),
        "packets": np.full(len(number), 1000),
    }
    return Flows(Frame(FLOWS, columns), tuple(f"10.0.0.{n + 1}" for n in range(members)))


def two_jobs(pace: float) -> Streams:
    """A ring of three, and one of five of another job that sends as much in so many times the time."""
    slow, fast = ring_records(3), ring_records(5)
    start_ns = fast.frame["time_flow_start_ns"] * pace
    faster = fast.frame.replace(
        src_addr=fast.frame["src_addr"] + 3,
        dst_addr=fast.frame["dst_addr"] + 3,
        time_flow_start_ns=start_ns,
        time_flow_end_ns=start_ns + MS * pace,
    )
    return build_streams(Flows(concat(FLOWS, [slow.frame, faster]), tuple(f"10.0.0.{n + 1}" for n in range(8))))


def beats_of(messages: list[int]) -> StreamPeriods:
    """Beats heard of so many messages each."""
    quantum = np.array(messages, np.float64) * MESSAGE_BYTES
    return StreamPeriods(quantum, np.full(len(messages), 1.0 * MESSAGE_BYTES), np.ones(len(messages)))


def test_a_stream_that_cannot_be_cut_takes_the_cycle_of_its_like() -> None:
    """One hears 7 messages, where nothing recurs, one two iterations; the others hear the iteration."""
    flow, numbers = ring(5), np.arange(5)
    heard = beats_of([12, 7, 12, 24, 12])
    found = cut_cycles(flow, numbers, heard)
    assert 1 not in found.stream
    agreement = adopt_shared_period(flow, found, numbers, heard)
    np.testing.assert_array_equal(agreement.stream, numbers)
    np.testing.assert_allclose(agreement.count, CYCLES, rtol=1e-3)


def test_a_part_of_their_cycle_becomes_theirs() -> None:
    """Passes that are alike on one stage of a job, and differ on another, are parts of the same iteration."""
    flow, numbers = ring(5), np.arange(5)
    heard = beats_of([12, 6, 12, 12, 12])
    found = adopt_shared_period(flow, cut_cycles(flow, numbers, heard), numbers, heard)
    np.testing.assert_allclose(found.count, CYCLES, rtol=1e-3)


def test_a_shorter_cycle_that_is_no_part_of_theirs_stays() -> None:
    """Eight messages do not divide twelve."""
    flow, numbers = ring(5, between_ns=20 * MS), np.arange(5)
    heard = beats_of([12, 8, 12, 12, 12])
    before = cut_cycles(flow, numbers, heard)
    assert len(before) == 5
    assert adopt_shared_period(flow, before, numbers, heard).count.tolist() == before.count.tolist()


@pytest.mark.parametrize("pace", [0.25, 0.98])
def test_another_job_that_carries_as_much_has_no_vote(pace: float) -> None:
    """Models of one width send as many bytes; of one job two iterations are heard as one, and it has more streams."""
    flow, numbers = two_jobs(pace), np.arange(8)
    heard = beats_of([12] * 3 + [24] * 5)
    found = adopt_shared_period(flow, cut_cycles(flow, numbers, heard), numbers, heard)
    np.testing.assert_allclose(found.count, [CYCLES] * 3 + [CYCLES / 2] * 5, rtol=1e-3)


@pytest.mark.parametrize(("messages", "cycles"), [([1, 1, 12, 1, 12], CYCLES), ([1, 1, 1, 1, 12], 12 * CYCLES)])
def test_who_hears_single_messages_has_no_vote(messages: list[int], cycles: int) -> None:
    """Where two of five hear the iteration, all take it; one alone may hear a fault that comes and goes."""
    flow, numbers = ring(5, between_ns=20 * MS), np.arange(5)
    heard = beats_of(messages)
    found = adopt_shared_period(flow, cut_cycles(flow, numbers, heard), numbers, heard)
    np.testing.assert_allclose(found.count, cycles, rtol=1e-3)
