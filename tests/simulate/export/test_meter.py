import subprocess
from collections import defaultdict
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from scipy.stats import chi2

from datamodel.frame import Frame
from simulate.export.cache import RECORDS, cached
from simulate.export.feed_spec import FeedSpec, Kind
from simulate.export.observations import ends
from simulate.export.traffic import FabricTraffic
from simulate.export.trains import DATA, TRAINS
from simulate.export.wire.pcap import write_pcap
from simulate.faults import Fault
from tests.simulate.cases import job
from tests.simulate.export.views import View, passed, view

METERS: tuple[Kind, ...] = ("ipfix", "netflow9", "netflow5")
CHANCE = 0.001
TOLD = "options records (what an exporter says of itself, no flows)"
MS = 1_000_000


@pytest.fixture(scope="module")
def seen() -> FabricTraffic:
    """What a job of 16 NICs sends in 40 iterations of about 0.2 s, with a NIC that is down for a while."""
    return passed(Fault("flap", first=3, rank=5, size=20, every=2), made=job(iterations=40))


@pytest.mark.parametrize("rate", [1, 64])
@pytest.mark.parametrize("kind", METERS)
def test_every_datagram_decodes_and_nothing_is_doubted(seen: FabricTraffic, kind: Kind, rate: int) -> None:
    """Nothing is left out but options data, which tell the rate; nothing seems lost, late or doubled."""
    reading = view(FeedSpec(kind, rate, active_s=0.5, inactive_s=0.01), seen).reading
    assert set(reading.notes.rejected) <= {TOLD}
    assert not reading.notes.warnings
    assert all(a.lost == a.late == a.duplicates == a.restarts == 0 for a in reading.accounts)
    assert all(a.sampling_rates == (rate,) for a in reading.accounts)
    assert len(reading.flows) > 1000


def of_pairs(flows: View, name: str) -> dict[tuple[str, str], int]:
    """Sum of a column of the records by source and destination."""
    total: dict[tuple[str, str], int] = defaultdict(int)
    book, rows = flows.flows.addresses, flows.rows
    for src, dst, value in zip(rows["src_addr"].tolist(), rows["dst_addr"].tolist(), rows[name].tolist(), strict=True):
        total[book[src], book[dst]] += value
    return dict(total)


def sent_by_pairs(seen: FabricTraffic, name: str) -> dict[tuple[str, str], int]:
    """The same of what was sent, answers included."""
    book = seen.fabric.addresses()
    total: dict[tuple[str, str], int] = defaultdict(int)
    for src, dst, value in zip(
        *(e.tolist() for e in ends(seen.bursts, seen.trains)), seen.trains[name].tolist(), strict=True
    ):
        total[book[src], book[dst]] += value
    return dict(total)


@pytest.mark.parametrize("kind", METERS)
def test_unsampled_records_count_every_packet_and_byte(seen: FabricTraffic, kind: Kind) -> None:
    """Per pair of endpoints the records add up to what was sent, however often they were cut."""
    for active_s, inactive_s in ((60.0, 15.0), (0.1, 0.003)):
        found = view(FeedSpec(kind, active_s=active_s, inactive_s=inactive_s), seen)
        for name in ("bytes", "packets"):
            assert of_pairs(found, name) == sent_by_pairs(seen, name)


def test_sampled_records_count_what_chance_allows(seen: FabricTraffic) -> None:
    """Of 1 in 64 sampled, packets per pair scatter as those of a fair draw do: chi-square."""
    got, sent = of_pairs(view(FeedSpec("ipfix", 64), seen), "packets"), sent_by_pairs(seen, "packets")
    expected = np.array([sent[pair] / 64 for pair in sent])
    counted = np.array([got.get(pair, 0) for pair in sent])
    enough = expected > 10
    statistic = ((counted - expected) ** 2 / expected)[enough].sum()
    assert chi2.ppf(CHANCE, enough.sum()) < statistic < chi2.ppf(1 - CHANCE, enough.sum())


def test_records_last_no_longer_than_the_active_timeout(seen: FabricTraffic) -> None:
    """No record spans more time, each is sent within the timeouts and a beat, and times are those of the packets."""
    found = view(FeedSpec("ipfix", active_s=0.2, inactive_s=0.05, hold_ms=100), seen)
    rows = found.rows
    assert (rows["time_flow_end_ns"] - rows["time_flow_start_ns"]).max() <= 201 * MS
    late = rows["time_received_ns"] - rows["time_flow_end_ns"]
    assert late.min() >= 0
    assert late.max() < (200 + 100 + 2) * MS
    assert abs(rows["time_flow_start_ns"].min() - seen.trains["start_ns"].min()) < 2 * MS


def test_a_short_inactive_timeout_tells_iterations_apart(seen: FabricTraffic) -> None:
    """Where flows pause for longer than the timeout, records begin and end as the bursts between pauses do."""
    found = view(FeedSpec("ipfix", active_s=60, inactive_s=0.02), seen)
    data = found.rows.take(found.rows["bytes"] > 100_000)
    b = seen.bursts
    for column, times in (("time_flow_start_ns", b["start_ns"]), ("time_flow_end_ns", b["end_ns"])):
        order = np.sort(times)
        place = np.clip(np.searchsorted(order, data[column]), 1, len(order) - 1)
        gap = np.minimum(np.abs(order[place] - data[column]), np.abs(order[place - 1] - data[column]))
        assert gap.max() < 1.1 * MS


def test_counts_stay_below_what_netflow_5_can_tell() -> None:
    """Records of more than 2 GiB are cut, with nothing lost."""
    trains = Frame(TRAINS, {
        "burst": [0], "kind": [DATA], "start_ns": [0], "end_ns": [10**9], "first": [0], "packets": [5 * 10**6],
        "bytes": [5 * 10**6 * 4096],
    })  # fmt: skip
    found = cached(np.zeros(1, np.int64), trains, 60 * 10**9, 15 * 10**9, 1 << 31)
    assert found["bytes"].max() <= 1 << 31
    assert found["bytes"].sum() == 5 * 10**6 * 4096
    assert found["packets"].sum() == 5 * 10**6
    assert len(found) == 10


def test_a_cache_keeps_flows_apart_and_cuts_in_time() -> None:
    """Two flows by turns: one pauses beyond the timeout, the other lasts beyond it."""
    trains = Frame(TRAINS, {
        "burst": [0, 1, 2], "kind": [DATA] * 3, "start_ns": [0, 5, 900], "end_ns": [10, 350, 910], "first": [0] * 3,
        "packets": [10, 69, 10], "bytes": [100, 690, 100],
    })  # fmt: skip
    found = cached(np.array([0, 1, 0]), trains, 100, 50, 1 << 40)
    shown = [tuple(int(found[name][n]) for name in RECORDS.names) for n in range(len(found))]
    assert shown[0] == (0, 0, 10, 60, 10, 100)
    assert shown[1] == (2, 900, 910, 960, 10, 100)
    assert [row[1] for row in shown[2:]] == [5, 105, 205, 305]
    assert sum(row[4] for row in shown[2:]) == 69
    assert [row[3] for row in shown[2:]] == [105, 205, 305, 400]


@pytest.mark.skipif(which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("kind", METERS)
def test_tshark_finds_nothing_malformed(seen: FabricTraffic, kind: Kind, tmp_path: Path) -> None:
    """Another dissector reads every set and record."""
    found = view(FeedSpec(kind, 64), seen)
    write_pcap(tmp_path / "feed.pcap.gz", found.export.datagrams)
    command = [
        "tshark",
        "-r",
        str(tmp_path / "feed.pcap.gz"),
        "-T",
        "fields",
        "-e",
        "_ws.malformed",
        "-e",
        "cflow.srcaddr",
    ]
    command += ["-e", "_ws.expert.message"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.split("\t") for line in out.splitlines()]
    assert len(lines) == len(found.export.datagrams)
    assert not any(malformed or expert for malformed, _, expert in lines)
    assert sum(len(a.split(",")) for _, a, _ in lines if a) == len(found.rows)


def test_a_prescaled_meter_announces_nothing_and_counts_multiples(seen: FabricTraffic) -> None:
    """The same records as one that announces its rate, its counts times the rate; and no rate."""
    open_rate, hidden = (view(FeedSpec("ipfix", 64, prescaled=scaled), seen) for scaled in (False, True))
    for name in ("packets", "bytes"):
        assert (hidden.rows[name] == open_rate.rows[name] * 64).all()
    assert [a.sampling_rates for a in open_rate.reading.accounts] == [(64,)] * len(open_rate.reading.accounts)
    assert {rate for a in hidden.reading.accounts for rate in a.sampling_rates} <= {1}
