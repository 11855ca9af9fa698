"""A selection is what a filter of everything would give, whatever is passed over on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datamodel.errors import InputError
from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS
from storage.lake.compaction import SETTLE_NS
from storage.lake.compactor import Compactor
from storage.lake.lake_reader import read_kind, read_lake
from storage.lake.lake_writer import CommitBatch
from storage.lake.segments import PACKED_GROUP_ROWS
from storage.lake.selection import Selection, select
from tests.storage.lake.test_lake_writer import opened
from tests.storage.records import batch, counters, flows

ROWS = 3 * PACKED_GROUP_ROWS
HOSTS = tuple(f"10.0.{n // 250}.{n % 250}" for n in range(500))
AGENTS = tuple(f"10.255.0.{n}" for n in range(8))
SELECTIONS = [
    Selection(),
    Selection(start_ns=40_000, end_ns=60_000),
    Selection(end_ns=1),
    Selection(start_ns=10**9),
    Selection(endpoints=frozenset({HOSTS[7], HOSTS[8], "192.0.2.1"})),
    Selection(endpoints=frozenset({"192.0.2.1"})),
    Selection(exporters=frozenset({AGENTS[3], AGENTS[6]})),
    Selection(30_000, 90_000, frozenset(AGENTS[:4]), frozenset(HOSTS[100:140])),
]


def traffic() -> tuple[Frame, tuple[str, ...]]:
    """Records of 500 endpoints seen by eight exporters and one that is not known."""
    random = np.random.default_rng(3)
    source = random.integers(0, len(HOSTS), ROWS)
    start = np.sort(random.integers(0, 100_000, ROWS))
    columns = {
        "time_flow_start_ns": start,
        "time_flow_end_ns": start + random.integers(0, 3000, ROWS),
        "src_addr": source,
        "dst_addr": (source + random.integers(1, 4, ROWS)) % len(HOSTS),
        "sampler_address": np.where(source % 9 == 8, -1, len(HOSTS) + source % 9),
        "bytes": np.arange(ROWS),
    }
    return Frame(FLOWS, columns), HOSTS + AGENTS


@pytest.fixture(scope="module", params=["as committed", "packed"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The traffic in three commits, and the same packed."""
    folder = tmp_path_factory.mktemp("lake")
    frame, book = traffic()
    store = opened(folder)
    for part in np.array_split(np.arange(ROWS), 3):
        store.commit(CommitBatch(0, [frame.take(part)], book, b""))
    if request.param == "packed":
        compactor = Compactor(folder, {}, clock=lambda: 2 * SETTLE_NS + 2_000_000_000 * 1_000_000_000)
        assert compactor.run_round().packed_rows == ROWS
        compactor.close()
    return folder


def expected(selection: Selection) -> list[int]:
    """The `bytes` of records that fit, compared one by one."""
    frame, book = traffic()
    start, end = frame["time_flow_start_ns"], frame["time_flow_end_ns"]
    fits = np.ones(ROWS, np.bool_)
    if selection.start_ns is not None:
        fits &= end >= selection.start_ns
    if selection.end_ns is not None:
        fits &= start < selection.end_ns
    texts = {name: [book[code] if code >= 0 else "" for code in frame[name]] for name in ("src_addr", "dst_addr")}
    if selection.endpoints is not None:
        pairs = zip(texts["src_addr"], texts["dst_addr"], strict=True)
        fits &= np.array([not selection.endpoints.isdisjoint(pair) for pair in pairs])
    if selection.exporters is not None:
        agents = [book[code] if code >= 0 else "" for code in frame["sampler_address"]]
        fits &= np.array([agent in selection.exporters for agent in agents])
    return [int(number) for number in frame["bytes"][fits]]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_selection_is_a_filter(lake: Path, selection: Selection) -> None:
    """By time, exporter and endpoint, from small segments as from packed ones."""
    reading = read_lake(lake, selection)
    assert sorted(reading.flows.frame["bytes"].tolist()) == expected(selection)
    assert reading.notes.warnings == ()


def test_only_the_columns_asked_for(lake: Path) -> None:
    """Columns come in the schema's order; those that are selected by need not be asked for."""
    found = select(lake, "flows", Selection(endpoints=frozenset({HOSTS[7]}), columns=("bytes", "time_flow_start_ns")))
    assert found.frame.schema.names == ("time_flow_start_ns", "bytes")
    assert sorted(found.frame["bytes"].tolist()) == expected(Selection(endpoints=frozenset({HOSTS[7]})))


def test_unknown_columns_are_refused(lake: Path) -> None:
    """A name that is no column is named."""
    with pytest.raises(InputError, match="flows have no column 'colour'"):
        select(lake, "flows", Selection(columns=("colour",)))


def test_no_exporter_is_none(tmp_path: Path) -> None:
    """Records whose exporter is not known are those of no exporter."""
    opened(tmp_path).commit(batch(flows(1)))
    assert len(read_lake(tmp_path, Selection(exporters=frozenset({"10.255.0.1"}))).flows) == 0


def test_other_kinds(tmp_path: Path) -> None:
    """Counters are selected by time and exporter in the same way."""
    opened(tmp_path).commit(batch(counters(10)))
    assert len(read_kind(tmp_path, "counters", Selection(start_ns=2, end_ns=5))[0]) == 3
    assert len(read_kind(tmp_path, "counters", Selection(exporters=frozenset({"10.255.0.2"})))[0]) == 0


def test_counters_come_with_records_but_not_with_those_of_some_endpoints(tmp_path: Path) -> None:
    """They count what all endpoints send: readings of whole interfaces, of the same window."""
    opened(tmp_path).commit(batch(flows(10), counters(10)))
    assert len(read_lake(tmp_path, Selection(start_ns=2, end_ns=5)).counters.frame) == 3
    assert len(read_lake(tmp_path, Selection(endpoints=frozenset({"10.0.0.1"}))).counters.frame) == 0
