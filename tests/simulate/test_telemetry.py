from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.telemetry.flows import recode
from reconstruct.streams.stream_builder import build_streams
from simulate.bursts import Sequences, bursts
from simulate.faults import Fault
from simulate.telemetry import ROW_NS, ROW_PACKETS, exact_flows, mirror_flows
from tests.simulate.cases import FABRIC, job, ran


@pytest.fixture(scope="module")
def seen() -> Frame:
    """Bursts of a job with a NIC that is down for a while."""
    run = ran(job(iterations=3), Fault("flap", first=1, rank=5, size=40, every=1))
    return bursts(run, 10**18, Sequences(), 1)


def test_an_exact_record_holds_a_burst_and_its_headers(seen: Frame) -> None:
    """Payload, 44 bytes of headers a packet and a RETH for each RDMA write."""
    rows = exact_flows(seen, None)
    assert len(rows) == len(seen)
    assert (rows["bytes"] == seen["bytes"] + 44 * seen["packets"] + 16 * seen["messages"]).all()
    assert (rows["message_bytes"] == seen["bytes"]).all()


@pytest.mark.parametrize("gathered", [1, 16])
def test_a_mirrors_rows_are_short_and_whole(seen: Frame, gathered: int) -> None:
    """None has more packets or time than the decoder allows, gathered; together they are the bursts."""
    rows = mirror_flows(seen, None, gathered=gathered)
    assert rows["packets"].max() <= ROW_PACKETS * gathered
    assert (rows["time_flow_end_ns"] - rows["time_flow_start_ns"]).max() <= ROW_NS * gathered
    for column, of in (("payload_bytes", "bytes"), ("packets", "packets"), ("message_bytes", "bytes")):
        assert rows[column].sum() == seen[of].sum()
    assert (rows["time_acknowledged_ns"] > rows["time_flow_end_ns"]).all()


def test_rows_of_a_burst_follow_on_in_packet_numbers(seen: Frame) -> None:
    """Each row of a burst begins one packet after the row before it ended."""
    burst = seen.take(np.array([int(np.argmax(seen["packets"]))]))
    rows = mirror_flows(burst, None, gathered=1)
    assert len(rows) > 3
    assert ((rows["psn_last"][:-1] + 1) % (1 << 24) == rows["psn_first"][1:]).all()
    assert (rows["time_flow_start_ns"][1:] == rows["time_flow_end_ns"][:-1]).all()


def test_a_pause_is_left_out_of_a_mirrors_rows(seen: Frame) -> None:
    """Of a burst that stood still in its middle third no row lies within that third, and no byte is lost."""
    burst = seen.take(np.array([int(np.argmax(seen["packets"]))]))
    third = (burst["end_ns"] - burst["start_ns"]) // 3
    burst = burst.replace(paused_ns=burst["start_ns"] + third, resumed_ns=burst["start_ns"] + 2 * third)
    rows = mirror_flows(burst, None, gathered=1)
    middle = (rows["time_flow_start_ns"] + rows["time_flow_end_ns"]) // 2
    spanning = (rows["time_flow_start_ns"] < burst["paused_ns"]) & (rows["time_flow_end_ns"] > burst["resumed_ns"])
    still = (middle > burst["paused_ns"]) & (middle < burst["resumed_ns"]) & ~spanning
    assert len(rows) > 10
    assert spanning.sum() <= 1
    assert not still.any()
    assert rows["payload_bytes"].sum() == burst["bytes"][0]


def test_answers_go_back_on_the_senders_queue_pair(seen: Frame) -> None:
    """A clear-to-send before each burst, its acknowledgements and notifications until it is delivered, all small."""
    rows = exact_flows(seen, np.arange(len(seen)))
    clear, acknowledged = rows.take(np.arange(len(seen), 2 * len(seen))), rows.take(np.arange(2 * len(seen), len(rows)))
    for back in (clear, acknowledged):
        assert (back["src_addr"] == seen["dst"]).all()
        assert (back["dst_addr"] == seen["src"]).all()
        assert (back["dst_qp"] == seen["src_qp"]).all()
    assert (clear["time_flow_end_ns"] < seen["start_ns"]).all()
    assert (acknowledged["time_flow_end_ns"] == seen["delivered_ns"]).all()
    assert (acknowledged["cnp_packets"] == np.arange(len(seen))).all()
    assert acknowledged["bytes"].sum() < 0.01 * rows["bytes"].sum()


@pytest.mark.parametrize("flows", [exact_flows, lambda b, notified: mirror_flows(b, notified, gathered=1)])
def test_of_a_message_that_never_came_there_is_its_clear_to_send(
    flows: Callable[..., Frame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row from the receiver for each of them, no data; and nobody acknowledges what a dead NIC did not get."""
    monkeypatch.setattr("simulate.faults._MIDDLE", 0.2)  # while it waits for a gradient
    run = ran(job(iterations=4), Fault("hang_communication", first=2, rank=5), until_ns=5e9)
    b = bursts(run, 10**18, Sequences(), 1)
    waited, unheard = b["packets"] == 0, (b["packets"] > 0) & (b["delivered_ns"] == 0)
    assert waited.any()
    assert unheard.any()
    rows = flows(b.take(waited), np.zeros(int(waited.sum()), np.int64))
    assert (rows["src_addr"] == b["dst"][waited]).all()
    assert (rows["message_bytes"] == 64).all()
    back = flows(b.take(unheard), np.zeros(int(unheard.sum()), np.int64))
    back = back.take(back["src_addr"] == b["dst"][unheard][0])
    assert (back["message_bytes"] == 64).all()


def test_acknowledgements_are_no_data_to_the_analysis(seen: Frame) -> None:
    """Streams of a feed with answers carry the bursts' bytes and, apart from them, only what announces them."""
    addresses = FABRIC.addresses()
    notified = np.full(len(seen), 5)
    plain, answered = (build_streams(recode(mirror_flows(seen, n, gathered=1), addresses)) for n in (None, notified))
    assert plain.bytes.sum() == seen["bytes"].sum()
    assert answered.bytes.sum() - plain.bytes.sum() == 64 * len(seen)


def test_planes_share_out_the_packets_of_a_message() -> None:
    """Of two records of one message each numbers every other packet, together all of them; one tells its length."""
    run = ran(job(iterations=2), fabric=replace(FABRIC, planes=2, sprayed=True))
    rows = exact_flows(bursts(run, 10**18, Sequences(), 1), None).sort("dst_qp", "time_flow_start_ns", "psn_first")
    first, second = rows.take(np.arange(0, len(rows), 2)), rows.take(np.arange(1, len(rows), 2))
    assert (first["dst_qp"] == second["dst_qp"]).all()
    assert (abs(second["src_addr"] - first["src_addr"]) == FABRIC.endpoints).all()
    assert ((second["psn_first"] - first["psn_first"]) % (1 << 24) == 1).all()
    assert ((second["psn_last"] - first["psn_first"]) % (1 << 24) + 1 == first["packets"] + second["packets"]).all()
    assert (np.minimum(first["message_bytes"], second["message_bytes"]) == 0).all()
