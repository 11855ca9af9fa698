"""Volumes of sampled connections by sequence numbers, against what was sent."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import FLOWS, TCP, UDP, Flows
from reconstruct.sampled.curves.sampled_volumes import sampled_volumes
from reconstruct.streams.stream_builder import volumes

RATE, PACKET_BYTES, HEADER_BYTES = 64, 4096, 64
ADDRESSES = ("10.0.0.1", "10.0.0.2")


def sampled(packets: int, draw: int, proto: int = UDP, first: int = (1 << 24) - 1000) -> tuple[Flows, Int]:
    """(samples of 1 in RATE packets of one connection whose numbers wrap, the payload that each stands for)."""
    taken = np.flatnonzero(np.random.default_rng(draw).random(packets) < 1 / RATE)
    number = (first + taken) % (1 << 24) if proto == UDP else (first + taken * PACKET_BYTES) % (1 << 32)
    same = {
        "dst_addr": 1, "src_port": 50_000, "dst_port": 4791, "proto": proto, "dst_qp": 7, "packets": 1,
        "bytes": PACKET_BYTES + HEADER_BYTES, "payload_bytes": -1, "sampling_rate": RATE,
    }  # fmt: skip
    rows = {name: np.full(len(taken), value) for name, value in same.items()}
    rows |= {"psn_first" if proto == UDP else "tcp_seq_first": number, "src_addr": np.zeros(len(taken), np.int64)}
    rows |= dict.fromkeys(("time_flow_start_ns", "time_flow_end_ns"), taken * 1000)
    flows = Flows(Frame(FLOWS, rows), ADDRESSES)
    return flows, volumes(flows.frame)


@pytest.mark.parametrize("proto", [UDP, TCP])
def test_sequence_numbers_give_volumes_that_chance_hardly_changes(proto: int) -> None:
    """Of about 94 samples: within 3 % of what was sent, where counting them errs by 10 %."""
    sent, found, counted = 6000 * PACKET_BYTES, [], []
    for draw in range(40):
        flows, volume = sampled(6000, draw, proto)
        found.append(sampled_volumes(flows, np.ones(len(volume), np.bool_)).sum() / sent - 1)
        counted.append(volume.sum() / sent - 1)
    assert np.std(found) < 0.03
    assert np.std(counted) > 0.07
    assert abs(np.mean(found)) < 0.02  # headers, whose size is not known to the byte


def test_volumes_stay_where_numbers_contradict_the_sampling_rate() -> None:
    """Numbers that begin again are no distance."""
    flows, volume = sampled(6000, 1)
    number = flows.frame["psn_first"].copy()
    number[len(number) // 2 :] = (number[len(number) // 2 :] + 100_000) % (1 << 24)
    broken = Flows(flows.frame.replace(psn_first=number), ADDRESSES)
    assert sampled_volumes(broken, np.ones(len(volume), np.bool_)).tolist() == volume.tolist()


def test_rows_in_any_order_give_the_same_volumes() -> None:
    """Samples of two connections, shuffled: each stands for the same bytes."""
    (one, volume), (other, more) = sampled(3000, 2), sampled(5000, 3)
    columns = {name: np.concatenate([one.frame[name], other.frame[name]]) for name in FLOWS.names}
    columns["src_port"] = np.repeat([50_000, 50_001], [len(volume), len(more)])
    flows, every = Flows(Frame(FLOWS, columns), ADDRESSES), np.ones(len(volume) + len(more), np.bool_)
    expected = sampled_volumes(flows, every)
    order = np.random.default_rng(0).permutation(len(every))
    shuffled = Flows(flows.frame.take(order), ADDRESSES)
    assert sampled_volumes(shuffled, every).tolist() == expected[order].tolist()
