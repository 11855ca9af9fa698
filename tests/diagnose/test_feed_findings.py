"""What is wrong with a feed is told; what is right is not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from capture.netflow.wire.reasons import REASONS, TEMPLATE_LATE
from datamodel.cluster.endpoint_locations import locate_endpoints
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Finding
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import FLOWS, Flows, mark_metered
from datamodel.telemetry.ingest_result import IngestResult
from diagnose.feed_findings import FeedView, downgrade_findings, feed_findings
from reconstruct.clocks.clock_network import exporter_clocks
from reconstruct.streams.observations import select_primary
from simulate.case import simulate_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from tests.diagnose.sampled_job import MS

SECOND = 1000 * MS


@cache
def told(name: str) -> dict[str | None, Finding]:
    """Feed findings of a simulated scenario, by cause."""
    case = simulate_case(scenario(name, ScenarioOptions(iterations=16)), 1)
    reading: IngestResult = next(r for kind, r in case.readings.items() if kind != "flows")
    frame = reading.flows.frame
    window = int(frame["time_flow_start_ns"].min()), int(frame["time_flow_end_ns"].max())
    names = {s.agent: s.name for s in case.inventory.switches if s.agent}
    place = locate_endpoints(case.inventory, reading.flows.addresses)
    hosts = [place.host.get(n) for n in range(len(place.addresses))]
    told = exporter_clocks(reading.flows, hosts)
    view = FeedView(reading.accounts, reading.flows, window, names, *told, place.switch, select_primary(reading.flows))
    return {f.cause: f for f in feed_findings(view)}


@pytest.mark.parametrize("name", ["sflow", "ipfix", "netflow9", "doubled-sightings"])
def test_a_sound_feed_has_no_finding(name: str) -> None:
    """Several sightings and clocks that are off are corrected elsewhere."""
    assert told(name) == {}


@pytest.mark.parametrize(
    ("name", "cause", "severity"),
    [
        ("wrong-rate", "sampling_rate", "warning"),
        ("silent-exporter", "silence", "warning"),
        ("exporter-restart", "restart", "info"),
        ("lost-datagrams", "loss", "warning"),
        ("lost-datagrams", "double_counting", "info"),
        ("lost-templates", "loss", "warning"),
        ("late-batches", "reordering", "info"),
        ("clock-offset", "clock_offset", "info"),
        ("clock-offset-ipfix", "clock_offset", "info"),
    ],
)
def test_what_ails_a_feed_is_told(name: str, cause: str, severity: str) -> None:
    """Each ailment that the simulator knows, with the switches that have it."""
    found = told(name)[cause]
    assert (found.kind, found.severity, found.job, found.subject.type) == ("feed", severity, None, "switch")
    assert all(ident.startswith("leaf") for ident in found.subject.ids)
    everybody = name.startswith(("lost", "late", "clock"))
    some = {"lost-templates", "clock-offset-ipfix"}  # chance; clocks of records are told against the median one
    assert len(found.subject.ids) == (8 if everybody else 2) or name in some


def view(when: np.typing.NDArray[np.int64], lag_ms: np.typing.NDArray[np.float64], account: ExporterStats) -> FeedView:
    """One exporter of stamped samples, received some time after their stamps."""
    columns = dict.fromkeys(("bytes", "packets"), np.ones(len(when), np.int64))
    times = dict.fromkeys(("time_flow_start_ns", "time_flow_end_ns"), when)
    ends = {"sampler_address": np.zeros(len(when), np.int64), "src_addr": np.ones(len(when), np.int64)}
    frame = Frame(
        FLOWS,
        columns
        | times
        | ends
        | {"dst_addr": ends["src_addr"], "time_received_ns": when + (lag_ms * MS).astype(np.int64)},
    )
    return FeedView((account,), Flows(frame, ("192.0.2.1", "10.0.0.1")), (int(when[0]), int(when[-1])), {})


ACCOUNT = ExporterStats("sFlow v5", "192.0.2.1", 0, datagrams=1000, records=1000, first_ns=0, last_ns=60 * SECOND)


def test_a_clock_that_jumps_is_told() -> None:
    """From the middle on, stamps are 300 ms further ahead; agents hold samples for up to 100 ms all along."""
    when = np.arange(1000) * 60 * MS + SECOND
    held = np.random.default_rng(1).uniform(0, 100, 1000)
    assert feed_findings(view(when, held, ACCOUNT)) == []
    (found,) = feed_findings(view(when, held - np.where(np.arange(1000) > 500, 300, 0), ACCOUNT))
    assert (found.cause, found.severity) == ("clock", "warning")
    assert found.evidence[0].value == pytest.approx(0.3, abs=0.02)
    assert found.start_ns == pytest.approx(31 * SECOND, abs=6 * SECOND)


def test_records_of_single_packets_that_a_cache_held_are_no_clock() -> None:
    """A cache that is fed with sampled packets counts one in some records, and sends all when its timeouts say."""
    when = np.arange(1000) * 60 * MS + SECOND
    held = np.random.default_rng(1).uniform(0, 100, 1000) + np.where(np.arange(1000) > 500, 300, 0)
    single = view(when, held, ACCOUNT)
    assert [found.cause for found in feed_findings(single)] == ["clock"]
    several = np.where(np.arange(1000) % 50 == 0, 3, 1)
    frame = single.flows.frame.replace(packets=several, metered=several > 1)
    assert feed_findings(replace(single, flows=Flows(frame, single.flows.addresses))) == []


def test_records_without_a_template_are_told() -> None:
    """What cannot be read is missing from every volume."""
    lost = replace(ACCOUNT, protocol="IPFIX", rejected={REASONS[TEMPLATE_LATE]: 200})
    (found,) = feed_findings(view(np.arange(10) * SECOND, np.zeros(10), lost))
    assert (found.cause, found.severity) == ("templates", "warning")


def test_findings_from_records_with_holes_wake_nobody() -> None:
    """What is missing may look like what is slow: the finding stays, without its severity."""
    (found,) = feed_findings(view(np.arange(10) * SECOND, np.zeros(10), replace(ACCOUNT, lost=100)))
    (weaker,) = downgrade_findings([found], lossy=True)
    assert (found.severity, weaker.severity) == ("warning", "info")
    assert downgrade_findings([found], lossy=False) == [found]


def rows(when: Int, sampler: Int, src: Int, **columns: Int) -> Frame:
    """Records of several exporters and endpoints."""
    usual = {"bytes": np.full(len(when), 1000), "packets": np.full(len(when), 10), "dst_addr": src}
    times = {"time_flow_start_ns": when, "time_flow_end_ns": when, "time_received_ns": when}
    return Frame(FLOWS, usual | times | {"sampler_address": sampler, "src_addr": src} | columns)


@pytest.mark.parametrize(("changes", "told"), [(1, {"rate_change"}), (0, set()), (40, set())])
def test_a_rate_that_changes_is_told(changes: int, told: set[str]) -> None:
    """Once, on both interfaces, in the middle; samplers that take turns between two rates do not change theirs."""
    number = np.arange(400)
    rate = np.where(number // (400 // (changes + 1)) % 2, 1000, 4000)
    frame = rows(number * 100 * MS + SECOND, number * 0, number * 0 + 1, sampling_rate=rate, in_if=number % 2)
    account = replace(ACCOUNT, sampling_rates=tuple(sorted(set(rate.tolist()))))
    found = feed_findings(FeedView((account,), Flows(frame, ("192.0.2.1", "10.0.0.1")), (SECOND, 41 * SECOND), {}))
    assert {f.cause for f in found} == told
    if found:
        assert [(e.baseline, e.value) for e in found[0].evidence] == [(4000, 1000)]
        assert found[0].start_ns == pytest.approx(21 * SECOND, abs=SECOND)


def test_a_switch_that_never_spoke_is_told() -> None:
    """Two of three leaves export; what the third one's endpoint does, they see. Nobody misses a spine."""
    number = np.arange(300)
    frame = rows(number * 100 * MS + SECOND, number % 2, 3 + number % 3)
    addresses = ("192.0.2.1", "192.0.2.2", "192.0.2.3", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
    agents = {
        "192.0.2.1": "leaf1",
        "192.0.2.2": "leaf2",
        "192.0.2.3": "leaf3",
        "192.0.2.4": "leaf4",
        "192.0.2.9": "spine",
    }
    accounts = tuple(replace(ACCOUNT, agent=a) for a in addresses[:2])
    attached = {3: "leaf1", 4: "leaf2", 5: "leaf3", 6: "leaf4"}
    view = FeedView(accounts, Flows(frame, addresses), (SECOND, 31 * SECOND), agents, attached=attached)
    (found,) = feed_findings(view)
    assert (found.cause, found.severity, found.subject.ids) == ("unheard", "warning", ("leaf3",))
    assert feed_findings(replace(view, attached={**attached, 4: "leaf4"})) == []  # most of them are silent on purpose


@pytest.mark.parametrize(("length_ms", "told"), [(1000, {"active_timeout"}), (300, set())])
def test_records_that_a_timeout_cuts_are_told(length_ms: int, told: set[str]) -> None:
    """Each of a second, the next one at once, whoever received them.

    Not where pauses lie between, a better feed shows the bytes, or nobody knows that they are a meter's.
    """
    number = np.arange(100)
    when = number * 1000 * MS + SECOND
    frame = mark_metered(rows(when, number * 0, number * 0 + 1, time_flow_end_ns=when + (length_ms - 1) * MS))
    account = replace(ACCOUNT, protocol="IPFIX")
    view = FeedView((account,), Flows(frame, ("192.0.2.1", "10.0.0.1")), (SECOND, 101 * SECOND), {})
    assert {f.cause for f in feed_findings(view)} == told
    assert feed_findings(replace(view, carries=np.zeros(100, np.bool_))) == []
    kept = replace(view, accounts=())
    assert {f.cause for f in feed_findings(kept)} == told
    assert feed_findings(replace(kept, flows=Flows(frame.without({"metered"}), kept.flows.addresses))) == []
