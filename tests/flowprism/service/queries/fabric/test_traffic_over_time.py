"""What ports carry over time: from counters and records in a lake, against rates that were put in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from datamodel.errors import LimitExceededError, PermissionDeniedError
from datamodel.frame import Frame
from datamodel.telemetry.counters import COUNTERS
from flowprism.service.queries.fabric import traffic_over_time as module
from flowprism.service.queries.fabric.traffic_over_time import (
    Ports,
    counter_rates,
    ports_of_exporter,
    ports_of_job,
    ports_of_link,
    traffic_over_time,
)
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.queries.fabric.stored_traffic import BEGIN_NS, END_NS, SECOND_NS, with_traffic
from tests.flowprism.service.stored import demo_analysis, stored_demo

ALL, OTHER = Viewer("ann", "admin", None), Viewer("vera", "viewer", "search")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """The bundled capture with counters of leaf2."""
    folder = tmp_path_factory.mktemp("traffic")
    found = with_traffic(stored_demo(folder), folder / "flows")
    yield found
    found.database.close()


def readings(*rows: tuple[int, int, int]) -> Frame:
    """Readings of `in_bytes`: second, interface, value."""
    times, ports, values = (np.array(one) for one in zip(*rows, strict=True))
    return Frame(
        COUNTERS,
        {"time_ns": times * SECOND_NS, "sampler_address": 0 * times, "interface": ports, "in_bytes": values},
    )


def test_counters_of_ports_add_up_and_a_counter_that_began_again_is_unknown() -> None:
    """Between readings growth is even; outside of them, and over a restart, nothing is known of that port."""
    rows = readings((0, 1, 0), (20, 1, 2000), (40, 1, 100), (60, 1, 1100), (20, 2, 500), (60, 2, 900))
    rates, counted = counter_rates(rows, np.arange(0, 81, 10, dtype=np.int64) * SECOND_NS)
    assert counted == 2
    first, second = 8 * 100.0, 8 * 10.0
    restarted = 8 * 50.0
    expected = [first, first, second, second, restarted + second, restarted + second, np.nan, np.nan]
    assert rates["in_bytes"] == pytest.approx(expected, nan_ok=True)
    assert set(rates) == {"in_bytes"}
    assert counter_rates(rows.take(np.zeros(0, np.int64)), np.arange(3, dtype=np.int64)) == ({}, 0)


def test_a_link_has_the_rates_of_its_port_alone(stores: Stores) -> None:
    """In bits; discards begin half way; pause frames of its priority, marks of packets that it took in or sent."""
    of = ports_of_link(stores, ALL, "leaf2", 8)
    assert of is not None
    found = traffic_over_time(stores, of, BEGIN_NS, END_NS)
    assert (found.counted, found.wanted, found.moved_bps) == (1, 1, None)
    assert found.rates["in_bytes"] == pytest.approx(8e9)
    assert found.rates["in_discards"][:118] == pytest.approx(0)
    assert found.rates["in_discards"][122:] == pytest.approx(5)
    assert found.rates["pause_in_frames"] == pytest.approx(2)
    assert "pause_out_frames" not in found.rates
    assert found.marked_ratio is not None
    assert np.nanmean(found.marked_ratio[:118]) == pytest.approx(0.1, abs=0.02)
    assert found.marked_ratio[122:] == pytest.approx(0)
    assert ports_of_link(stores, ALL, "leaf9", 8) is None
    nowhere = traffic_over_time(stores, Ports(of.agents, frozenset({("192.168.250.12", 77)})), BEGIN_NS, END_NS)
    assert (nowhere.rates, nowhere.counted, nowhere.marked_ratio) == ({}, 0, None)


def test_an_exporter_has_all_its_ports(stores: Stores) -> None:
    """Both that count, in the second that is asked for and in no other."""
    found = traffic_over_time(stores, ports_of_exporter(ALL, "192.168.250.12"), BEGIN_NS, END_NS)
    assert (found.counted, found.wanted) == (2, None)
    assert found.rates["in_bytes"] == pytest.approx(4 * 8e9)
    later = traffic_over_time(stores, ports_of_exporter(ALL, "192.168.250.12"), END_NS + 10**12, END_NS + 2 * 10**12)
    assert (later.rates, later.marked_ratio) == ({}, None)


def test_a_job_has_the_ports_of_its_endpoints(stores: Stores) -> None:
    """By the inventory, of which one or two count here; what it moves follows from what scans kept of its pairs."""
    report = demo_analysis().report
    (job,) = report.jobs
    of = ports_of_job(stores, ALL, job.id)
    assert of is not None
    assert of.ports is not None
    assert len(of.ports) == 16
    found = traffic_over_time(stores, of, report.window.start_ns, report.window.end_ns, job.id)
    assert found.wanted == 16
    assert 0 < found.counted <= 2
    assert found.moved_bps is not None
    moved = found.moved_bps[np.isfinite(found.moved_bps)]
    assert 0 < moved.max() < 16 * 400e6
    assert ports_of_job(stores, OTHER, job.id) is None


def test_what_a_job_moves_is_the_same_read_in_parts(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that reach from one part of the time into the next count once, where the time asked for ends too."""
    report = demo_analysis().report
    (job,) = report.jobs
    window = report.window
    third_ns = (window.end_ns - window.start_ns) // 3
    for start_ns, end_ns in (
        (window.start_ns - third_ns, window.end_ns + third_ns),
        (window.start_ns + third_ns, window.end_ns - third_ns // 2),
    ):
        monkeypatch.setattr(module, "DAY_NS", 10 * third_ns)
        whole = module._moved_bps(stores, job.id, np.linspace(start_ns, end_ns, 41).astype(np.int64))
        monkeypatch.setattr(module, "DAY_NS", third_ns)
        parts = module._moved_bps(stores, job.id, np.linspace(start_ns, end_ns, 41).astype(np.int64))
        assert np.isfinite(whole).any()
        assert np.array_equal(parts, whole, equal_nan=True)


def test_links_and_exporters_are_for_viewers_of_all_tenants(stores: Stores) -> None:
    """Tenants share them."""
    with pytest.raises(PermissionDeniedError):
        ports_of_link(stores, OTHER, "leaf2", 8)
    with pytest.raises(PermissionDeniedError):
        ports_of_exporter(OTHER, "192.168.250.12")


def test_more_than_a_page_reads_is_refused(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is read, with the number of records."""
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    with pytest.raises(LimitExceededError, match="ask for a shorter one"):
        traffic_over_time(stores, ports_of_exporter(ALL, "192.168.250.12"), BEGIN_NS, END_NS)


def test_without_a_lake_nothing_is_known(stores: Stores, tmp_path: Path) -> None:
    """Neither where none is named nor where nothing was collected yet."""
    for flows in (None, str(tmp_path)):
        bare = Stores(stores.database, flows, None)
        found = traffic_over_time(bare, ports_of_exporter(ALL, "192.168.250.12"), BEGIN_NS, END_NS)
        assert (found.rates, found.marked_ratio) == ({}, None)
