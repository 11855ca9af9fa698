"""SQL over lakes and results: the questions of docs/query.md, and what a statement cannot reach."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from datamodel.errors import InputError
from flowprism.cli.actions.service.query import print_answer
from flowprism.service.stores import Stores
from storage.sql_query import run_query
from tests.flowprism.service.stored import demo_analysis
from tests.house.checkout import ROOT
from tests.storage.lake.test_lake_writer import opened
from tests.storage.records import batch, flows, gpu_counters

QUESTIONS = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "query.md").read_text(), re.DOTALL)


@pytest.fixture
def lakes(demo: Stores, tmp_path: Path) -> list[Path]:
    """Ten flow records in two segments, a host's GPU counters, and what scans of the bundled capture kept."""
    store = opened(tmp_path / "flows")
    for first in (0, 5):
        store.commit(batch(flows(5, first=first)))
    store.commit(batch(gpu_counters()))
    return [tmp_path / "flows", Path(str(demo.analyses))]


@pytest.mark.parametrize("sql", QUESTIONS, ids=range(1, len(QUESTIONS) + 1))
def test_a_question_of_the_page_has_an_answer(demo: Stores, lakes: list[Path], sql: str) -> None:
    """With at least one row."""
    assert len(QUESTIONS) == 11
    assert run_query(sql, lakes, demo.database).num_rows > 0


def test_flow_records_are_those_committed(lakes: list[Path]) -> None:
    """Columns that segments leave out have their default, and an unknown address is null."""
    sql = "SELECT count(*) AS n, sum(bytes) AS b, max(sampling_rate) AS r, count(sampler_address) AS known FROM flows"
    assert run_query(sql, lakes, None).to_pylist() == [{"n": 10, "b": 45, "r": 1, "known": 6}]


def test_spans_are_named(demo: Stores, lakes: list[Path]) -> None:
    """Codes of kinds of spans come as words; all of them are there."""
    answer = run_query("SELECT span, count(*) AS n FROM spans GROUP BY span", lakes, demo.database).to_pylist()
    assert {row["span"] for row in answer} >= {"compute", "wait"}
    assert sum(row["n"] for row in answer) == len(demo_analysis().timelines.spans)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM users",
        "SELECT * FROM tokens",
        "COPY (SELECT 1) TO '/tmp/flowprism-query-copy.csv'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "ATTACH '/tmp/flowprism-query.db'",
        "SET enable_external_access = true",
        "DELETE FROM jobs",
        "SELECT 1; SELECT 2",
        "PRAGMA database_list",
        "",
        "SELEC 1",
    ],
)
def test_nothing_else_is_in_reach(demo: Stores, lakes: list[Path], sql: str) -> None:
    """No file, no setting, no extension, no change: one clear line."""
    with pytest.raises(InputError, match=r"^query: ") as raised:
        run_query(sql, lakes, demo.database)
    assert "\n" not in str(raised.value)


def test_a_segment_cannot_be_overwritten(lakes: list[Path]) -> None:
    """The statement may name it and still only read."""
    (segment, *_) = sorted((lakes[0] / "segments").rglob("*.parquet"))
    before = segment.read_bytes()
    with pytest.raises(InputError, match="only one SELECT"):
        run_query(f"COPY (SELECT 1) TO '{segment}'", lakes, None)
    assert segment.read_bytes() == before


def test_answers_are_written_as_named(lakes: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CSV and Parquet hold the same rows; without a name they are a table on stdout."""
    sql = "SELECT bytes FROM flows ORDER BY bytes"
    for name in ("answer.csv", "answer.parquet"):
        print_answer(sql, lakes, None, tmp_path / name)
    assert pyarrow.csv.read_csv(tmp_path / "answer.csv")["bytes"].to_pylist() == list(range(10))
    assert pyarrow.parquet.read_table(tmp_path / "answer.parquet")["bytes"].to_pylist() == list(range(10))
    print_answer(sql, lakes, None, None)
    assert capsys.readouterr().out.split()[-1] == "9"


def test_what_cannot_be_asked_is_named(tmp_path: Path) -> None:
    """A folder that is no lake, a form that is none, a database that is not there, nothing to ask."""
    for message, arguments in {
        "not a folder of collected records": ([tmp_path], None, None),
        "written as .csv or .parquet": ([tmp_path], None, tmp_path / "answer.xls"),
        "there is no such database": ([], f"sqlite:///{tmp_path}/none.db", None),
        "nothing to ask": ([], None, None),
    }.items():
        with pytest.raises(InputError, match=message):
            print_answer("SELECT 1", *arguments)
