import subprocess
from dataclasses import replace
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from scipy.stats import chi2

from capture.export_decoder import ExportDecoder
from capture.exporters.counter_check import reconcile
from capture.packets.roce import RELIABLE_ACK
from capture.reader import read_flows
from datamodel.frame import Frame
from simulate.bursts import PSNS
from simulate.export.feed_spec import FeedSpec
from simulate.export.traffic import FabricTraffic
from simulate.export.wire.pcap import write_pcap
from tests.simulate.cases import assert_same_readings, job
from tests.simulate.export.views import View, passed, view

CHANCE = 0.001
ACK = RELIABLE_ACK


@pytest.fixture(scope="module")
def seen() -> FabricTraffic:
    """What a job of 16 NICs sends in four iterations."""
    return passed()


@pytest.fixture(scope="module")
def sampled(seen: FabricTraffic) -> View:
    """1 in 256 of it."""
    return view(FeedSpec("sflow", 256), seen)


def pair_codes(frame: Frame, flows: View) -> np.ndarray:
    """Of each record, source and destination as endpoint numbers of the fabric in one number."""
    number = {a: n for n, a in enumerate(flows.traffic.fabric.addresses())}
    book = np.array([number.get(a, -1) for a in flows.flows.addresses])
    codes: np.ndarray = book[frame["src_addr"]] * 1000 + book[frame["dst_addr"]]
    return codes


def test_every_datagram_decodes_and_nothing_is_doubted(sampled: View) -> None:
    """No datagram, sample or structure is left out, none seems lost, and pools agree with the rate."""
    notes = sampled.reading.notes
    assert not notes.rejected
    assert not notes.warnings
    assert all(a.lost == a.late == a.duplicates == a.restarts == 0 for a in sampled.reading.accounts)
    assert sum(a.records for a in sampled.reading.accounts) == len(sampled.rows) > 1000


def test_samples_of_each_pair_are_as_many_as_chance_allows(sampled: View) -> None:
    """Packets per pair of endpoints are those of the bursts, thinned: chi-square over all pairs."""
    b, rows = sampled.traffic.bursts, sampled.rows
    data = rows["bytes"] > 1000
    pairs, got = np.unique(pair_codes(rows, sampled)[data], return_counts=True)
    sent = np.bincount(b["src"].astype(np.int64) * 1000 + b["dst"], b["packets"])[pairs] / 256
    assert sent.sum() == pytest.approx(b["packets"].sum() / 256)
    enough = sent > 10
    statistic = ((got - sent) ** 2 / sent)[enough].sum()
    assert chi2.ppf(CHANCE, enough.sum()) < statistic < chi2.ppf(1 - CHANCE, enough.sum())


def test_packet_numbers_of_samples_lie_on_their_bursts_line(seen: FabricTraffic) -> None:
    """A data sample stamped by its agent has the number that its burst had reached at that time."""
    found = view(replace(FeedSpec("sflow", 64), stamped=True), seen)
    rows = found.rows.take(found.rows["bytes"] > 1000)
    b = seen.bursts
    order = np.lexsort([b["start_ns"], b["dst_qp"]])
    b = b.take(order)
    span = int(b["end_ns"].max() - b["start_ns"].min()) + 10**6
    base = int(b["start_ns"].min())
    of = (
        np.searchsorted(
            b["dst_qp"] * span + b["start_ns"] - base, rows["dst_qp"] * span + rows["time_flow_start_ns"] - base
        )
        - 1
    )
    burst = b.take(of)
    assert (burst["dst_qp"] == rows["dst_qp"]).all()
    passed_by = (rows["time_flow_start_ns"] - 1000 - burst["start_ns"]) / (burst["end_ns"] - burst["start_ns"])
    number = (rows["psn_first"] - burst["psn_first"]) % PSNS
    assert (np.abs(number + 0.5 - passed_by * burst["packets"]) < 2).all()


def test_all_packets_sampled_are_all_packets() -> None:
    """At 1 in 1 every packet number of every burst is there once, with its opcode, RETH and size."""
    seen = passed(made=job(iterations=1))
    rows = view(FeedSpec("sflow", 1), seen).rows
    data = rows.take(rows["bytes"] > 1000)
    b = seen.bursts
    assert len(data) == b["packets"].sum()
    payload = data["bytes"] - 44 - np.where(data["message_bytes"] > 0, 16, 0)
    assert payload.sum() == b["bytes"].sum()
    assert data["message_bytes"].sum() == b["bytes"].sum()
    opcode, count = np.unique(data["roce_opcode_first"], return_counts=True)
    counts = dict(zip(opcode.tolist(), count.tolist(), strict=True))
    assert counts.get(6, 0) + counts.get(10, 0) == b["messages"].sum()
    assert counts.get(8, 0) == counts.get(6, 0)
    keys = data["dst_qp"] * PSNS + data["psn_first"]
    assert len(np.unique(keys)) == len(keys)


def test_answers_are_seen_beside_data(sampled: View) -> None:
    """Acknowledgements and clear-to-send flow back on the sender's queue pair."""
    rows = sampled.rows
    small = rows.take(rows["bytes"] < 1000)
    assert (small["roce_opcode_first"] == ACK).any()
    assert set(small["dst_qp"].tolist()) <= set(sampled.traffic.bursts["src_qp"].tolist())
    assert not rows["ecn_ce_packets"].any()


def test_interface_counters_agree_with_the_samples(seen: FabricTraffic) -> None:
    """Sampled bytes, scaled, are what ports counted: no interface disagrees."""
    found = view(FeedSpec("sflow", 16, counters_s=0.2), seen)
    exports = ExportDecoder()
    exports.feed(found.export.datagrams)
    decoded = exports.take()
    assert len(decoded.counters) > 100
    assert reconcile(decoded.flows, decoded.counters) == []


def test_a_pcap_reads_back_as_what_was_sent(sampled: View, tmp_path: Path) -> None:
    """The capture gives the same records, times and accounts as the datagrams in memory."""
    write_pcap(tmp_path / "sflow.pcap.gz", sampled.export.datagrams)
    read = read_flows(tmp_path / "sflow.pcap.gz")
    assert replace(read, flows=sampled.flows, counters=sampled.reading.counters) == sampled.reading
    assert_same_readings(read.counters, sampled.reading.counters)
    for name, column in read.flows.frame.columns().items():
        assert (column == sampled.rows[name]).all(), name


@pytest.mark.skipif(which("tshark") is None, reason="tshark is not installed")
def test_tshark_finds_nothing_malformed(sampled: View, tmp_path: Path) -> None:
    """Another dissector reads every layer down to RoCE, acknowledgements' checksums included."""
    write_pcap(tmp_path / "sflow.pcap.gz", sampled.export.datagrams)
    fields = [f for name in ("_ws.malformed", "infiniband.bth.psn", "ip.checksum.status") for f in ("-e", name)]
    command = ["tshark", "-r", str(tmp_path / "sflow.pcap.gz"), "-o", "ip.check_checksum:TRUE", "-T", "fields", *fields]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.split("\t") for line in out.splitlines()]
    assert len(lines) == len(sampled.export.datagrams)
    assert not any(malformed for malformed, _, _ in lines)
    assert sum(len(psn.split(",")) for _, psn, _ in lines if psn) == len(sampled.rows)
    assert {s for _, _, status in lines for s in status.split(",")} == {"1"}
