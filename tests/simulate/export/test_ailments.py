from dataclasses import replace

import numpy as np
import pytest

from datamodel.telemetry.exporter_stats import ExporterStats
from simulate.export.feed_spec import POINTS, Clocks, ExporterFault, FeedSpec, Kind, Transport
from simulate.export.traffic import FabricTraffic
from simulate.faults import Fault
from tests.simulate.cases import FABRIC, VOLUMES, job
from tests.simulate.export.views import View, passed, view

KINDS: tuple[Kind, ...] = ("sflow", "ipfix", "netflow9", "netflow5")
MS, S = 10**6, 10**9


@pytest.fixture(scope="module")
def seen() -> FabricTraffic:
    """What a job of 16 NICs sends in 26 iterations, some five seconds."""
    return passed(made=job(iterations=26))


def feed(kind: Kind, **changes: object) -> FeedSpec:
    """A feed of many small datagrams: short timeouts, and agents that wait for a tenth of a second."""
    usual = FeedSpec(kind, 64 if kind == "sflow" else 1, active_s=0.1, inactive_s=0.01, hold_ms=100.0, templates_s=1.0)
    return replace(usual, **changes)  # type: ignore[arg-type]  # fields of `FeedSpec` by name


def accounts(found: View) -> dict[str, ExporterStats]:
    """The decoder's account of each exporter."""
    return {account.agent: account for account in found.reading.accounts}


@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_those_that_the_truth_tells(seen: FabricTraffic, kind: Kind) -> None:
    """What an exporter's numbers miss is what was lost: no more, and nearly all of it.

    What was lost behind its last datagram is never missed, and what surrounds a lost template cannot be counted.
    """
    found = view(feed(kind, transport=Transport(lost_ratio=0.1)), seen)
    notes, units = accounts(found), "items" if kind in {"ipfix", "netflow5"} else "datagrams"
    told = {str(t["agent"]): int(str(t[f"lost_{units}"])) for t in found.exporters()}
    options = max(a.datagrams for a in notes.values()) if kind == "ipfix" else 0  # records too, but no items
    assert all(notes[agent].lost <= lost + options for agent, lost in told.items())
    assert sum(a.lost for a in notes.values()) > 0.85 * sum(told.values()) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_late_or_twice_counts_once(seen: FabricTraffic, kind: Kind) -> None:
    """Records are those of a feed where nothing happens on the way; duplicates are as many as the truth tells."""
    way = Transport(late_ratio=0.1, doubled_ratio=0.1, late_ms=300)
    plain, found = (view(feed(kind, rate=1024, transport=t), seen) for t in (Transport(), way))
    assert len(found.rows) == len(plain.rows)
    assert found.rows["bytes"].sum() == plain.rows["bytes"].sum()
    notes = accounts(found)
    assert sum(a.late for a in notes.values()) > 10
    assert {a.agent: a.duplicates for a in notes.values()} == {
        t["agent"]: t["doubled_datagrams"] for t in found.exporters()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_silent_exporter_says_nothing_more(seen: FabricTraffic, kind: Kind) -> None:
    """The share that falls silent halfway sends nothing after that; all others go on to the end."""
    found = view(feed(kind, ailment=ExporterFault(share=0.25, silent_from=0.5)), seen)
    silent = {t["agent"]: t["silent_ns"] for t in found.exporters()}
    assert sum(at is not None for at in silent.values()) == 2
    end = seen.bursts["end_ns"].max()
    for agent, account in accounts(found).items():
        at = silent[agent]
        assert account.last_ns <= int(str(at)) + MS if at is not None else account.last_ns > end - S


def test_an_exporter_that_never_speaks_is_not_there(seen: FabricTraffic) -> None:
    """Silence from the beginning leaves no datagram; the truth tells of it."""
    found = view(feed("sflow", ailment=ExporterFault(share=0.5, silent_from=0.0)), seen)
    assert len(found.exporters()) == 8
    speaking = {str(t["agent"]) for t in found.exporters() if t["datagrams"]}
    assert set(accounts(found)) == speaking
    assert len(speaking) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_restart_begins_anew(seen: FabricTraffic, kind: Kind) -> None:
    """Sequence numbers, uptime, pools and caches begin anew; the decoder calls it a restart and loses nothing else."""
    found = view(feed(kind, ailment=ExporterFault(share=1.0, restart_at=0.5)), seen)
    assert {a.restarts for a in accounts(found).values()} <= {0, 1}
    plain = view(feed(kind), seen)
    if kind == "sflow":
        assert len(found.rows) == len(plain.rows)
    else:  # what the caches held is gone: less than an active timeout of it
        gone = plain.rows["bytes"].sum() - found.rows["bytes"].sum()
        assert 0 < gone < 0.05 * plain.rows["bytes"].sum()


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_rate_is_told_by_those_that_ail(seen: FabricTraffic, kind: Kind) -> None:
    """Their records carry it; of sFlow's the pool gives it away."""
    found = view(feed(kind, rate=64, ailment=ExporterFault(exported_rate=16)), seen)
    told = {str(t["agent"]): t["exported_rate"] for t in found.exporters()}
    assert sorted(map(str, told.values())) == ["16", "16", *["64"] * 6]
    assert {agent: a.sampling_rates for agent, a in accounts(found).items()} == {a: (r,) for a, r in told.items()}
    if kind == "sflow":
        doubted = {w.split()[2] for w in found.reading.notes.warnings if "sample pool disagree" in w}
        assert doubted == {agent for agent, rate in told.items() if rate == 16}


@pytest.mark.parametrize("kind", KINDS)
def test_clocks_are_off_as_the_truth_tells(seen: FabricTraffic, kind: Kind) -> None:
    """Times of an exporter's records differ from those of the same feed with right clocks by its offset and drift."""
    stamped = {"stamped": True} if kind == "sflow" else {}
    right = view(feed(kind, **stamped), seen)
    wrong = view(feed(kind, **stamped, clocks=Clocks(offset_ms=200, drift_ppm=50)), seen)
    most = 0
    for true in wrong.exporters():
        times = []
        for found in (right, wrong):
            rows = found.rows.take(found.rows["sampler_address"] == found.flows.addresses.index(str(true["agent"])))
            times.append(np.sort(rows["time_flow_start_ns"]))
        late = times[0] - times[0][0]
        offset = int(str(true["offset_ns"])) + late * int(str(true["drift_ppm"])) // 10**6
        allowed = {"sflow": 2000, "ipfix": 2 * MS, "netflow5": 2 * MS}.get(kind, S)  # headers of v9 tell whole seconds
        assert np.abs(times[1] - times[0] - offset).max() <= allowed
        most = max(most, abs(int(str(true["offset_ns"]))))
    assert 50 * MS < most <= 200 * MS


def test_every_point_of_a_path_sees_the_packets() -> None:
    """What crosses a spine is there four times at 1 in 1, what stays in a leaf twice, on the interfaces it takes."""
    short = passed(made=job(iterations=1, batches=1, volumes=replace(VOLUMES, gradient_bytes=10e6)))
    rows = view(FeedSpec("sflow", points=POINTS), short).rows
    once = view(FeedSpec("sflow"), short).rows
    crossing = short.bursts["spine"] >= 0
    packets = short.bursts["packets"]
    expected = 4 * packets[crossing].sum() + 2 * packets[~crossing].sum()
    assert (rows["bytes"] > 1000).sum() == expected
    assert (once["bytes"] > 1000).sum() == packets.sum()
    assert set(np.unique(rows["flow_direction"]).tolist()) == {0, 1}
    assert len(np.unique(rows["sampler_address"])) > len(np.unique(once["sampler_address"]))


def test_a_loaded_cable_marks_packets_and_the_receiver_tells() -> None:
    """Behind a slow uplink packets carry congestion marks, notifications flow back; before it none does."""
    slow = passed(
        Fault("slow_uplink", leaf=0, size=20), made=job(iterations=2), fabric=replace(FABRIC, uplink_gbps=400)
    )
    behind = view(FeedSpec("sflow", 4, points=("destination",)), slow).rows
    before = view(FeedSpec("sflow", 4), slow).rows
    assert not before["ecn_ce_packets"].any()
    assert 0.01 < behind["ecn_ce_packets"].sum() / len(behind) < 0.2
    assert before["cnp_packets"].any()
    healthy = view(FeedSpec("sflow", 4, points=("destination",)), passed(made=job(iterations=2))).rows
    assert healthy["ecn_ce_packets"].sum() < 0.2 * behind["ecn_ce_packets"].sum()


def test_a_lossy_cable_provokes_refusals_and_repeats() -> None:
    """Negative acknowledgements flow back, and packet numbers come twice at 1 in 1."""
    lossy = Fault("slow_uplink", leaf=0, size=20, loss_ratio=0.02)
    found = view(FeedSpec("sflow"), passed(lossy, made=job(iterations=1), fabric=replace(FABRIC, uplink_gbps=400)))
    rows = found.rows.take(found.rows["bytes"] > 1000)
    again = found.traffic.bursts["retransmitted_packets"].sum()
    assert again > 10
    assert found.rows["nak_packets"].sum() == again
    numbers = rows["dst_qp"] * (1 << 24) + rows["psn_first"]
    assert len(rows) - len(np.unique(numbers)) == again


def test_equal_seeds_give_equal_datagrams(seen: FabricTraffic) -> None:
    """And others do not."""
    one, same, other = (view(feed("sflow"), seen, seed).export.datagrams for seed in (1, 1, 2))
    assert (one.data == same.data).all()
    assert (one.index == same.index).all()
    assert len(one.data) != len(other.data) or (one.data != other.data).any()
