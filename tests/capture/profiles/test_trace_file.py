"""Chrome trace JSON of every form becomes columns; damage costs what stands behind it and no more."""

import gzip
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from capture.profiles.trace_file import TraceFile, read_trace_file
from capture.profiles.trace_scan import MISSING
from datamodel.errors import InputError

EVENT = {
    "ph": "X",
    "cat": "kernel",
    "name": "gemm",
    "pid": 0,
    "tid": 7,
    "ts": 12.345,
    "dur": 2,
    "args": {"grid": [1, 2]},
}
NESTED = {
    "args": {
        "Collective name": "allreduce", "In msg nelems": 5, "Out msg nelems": 7, "Process Group Ranks": "[0, 1]",
        "Process Group Name": "3", "Group size": 2, "name": "not the event's", "Input Dims": [[1, {"ts": 5}]],
    },
    "ts": "1700000000000000.124", "dur": 1e3, "name": 'a "b\\ \u00e9', "pid": "Spans", "tid": "x",
    "cat": "cpu_op", "ph": "X",
}  # fmt: skip


def written(folder: Path, text: str | bytes, name: str = "trace.json") -> Path:
    """A file of this content."""
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder / name


def text_of(trace: TraceFile, column: str, row: int) -> str | None:
    """A column's text."""
    code = int(trace.columns[column][row])
    return trace.texts[code] if code >= 0 else None


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("escape", [True, False])
def test_fields_are_read_in_any_order_and_layout(tmp_path: Path, indent: int | None, *, escape: bool) -> None:
    """Own keys and those of `args` are kept apart; text is unescaped; times are exact to the ns."""
    marks = [{"ph": "M", "name": "process_name", "args": {"name": "p"}}, {"ph": "i", "name": "i", "ts": 1}]
    flows = [{"ph": "s", "id": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"}, {"ph": "X", "name": "no time"}]
    document = {"schemaVersion": 1, "traceEvents": [*marks, EVENT, *flows, NESTED], "baseTimeNanoseconds": 17}
    trace = read_trace_file(written(tmp_path, json.dumps(document, indent=indent, ensure_ascii=escape)))
    assert trace.columns["ts"].tolist() == [12_345, 1_700_000_000_000_000_124]
    assert trace.columns["dur"].tolist() == [2_000, 1_000_000]
    assert [text_of(trace, "name", n) for n in (0, 1)] == ["gemm", NESTED["name"]]
    assert [text_of(trace, "pid", n) for n in (0, 1)] == ["0", "Spans"]
    assert [text_of(trace, "op", n) for n in (0, 1)] == [None, "allreduce"]
    assert [text_of(trace, name, 1) for name in ("group", "ranks")] == ["3", "[0, 1]"]
    assert [trace.columns[name].tolist() for name in ("sent", "got")] == [[MISSING, 5], [MISSING, 7]]
    assert (trace.metadata["schemaVersion"], trace.metadata["baseTimeNanoseconds"], trace.problem) == (1, 17, "")


@pytest.mark.parametrize(
    ("number", "nanoseconds"),
    [("0", 0), ("-1.5", -1500), ("0.0004", 0), ("0.0005", 1), ("1.2e3", 1_200_000), ("12E-3", 12), ("9e99", None)],
)
def test_times_are_exact(tmp_path: Path, number: str, nanoseconds: int | None) -> None:
    """Microseconds with decimals and exponents; one that no clock shows leaves its event out."""
    trace = read_trace_file(written(tmp_path, f'[{{"ph":"X","name":"k","ts":{number},"dur":1}}]'))
    assert trace.columns["ts"].tolist() == ([] if nanoseconds is None else [nanoseconds])


def test_every_cut_keeps_what_stands_before(tmp_path: Path) -> None:
    """A file that ends anywhere behind its first event has the events before, and a problem."""
    whole = json.dumps({"a": 1, "traceEvents": [EVENT] * 5, "distributedInfo": {"rank": 3}})
    first = whole.index("[") + 1
    for size in range(first, len(whole)):
        trace = read_trace_file(written(tmp_path, whole[:size]))
        assert len(trace.columns["ts"]) == whole[:size].count("}}"), size
        assert trace.problem, size
    assert read_trace_file(written(tmp_path, whole)).metadata["distributedInfo"] == {"rank": 3}


@pytest.mark.parametrize(
    "text", ['{"nodes": [1]}', "<html>", '{"traceEvents": 5}', '"traceEvents": [', "[[1, 2]]", "[1]"]
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    """Whatever is no list of events."""
    with pytest.raises(InputError, match=r"trace.json: is no trace"):
        read_trace_file(written(tmp_path, text))


def test_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    """Events before it are kept."""
    text = json.dumps({"traceEvents": [EVENT] * 3})
    trace = read_trace_file(written(tmp_path, text.replace("}}, {", "}} ?? {", 2).replace(" ?? ", ", ", 1)))
    assert (len(trace.columns["ts"]), trace.problem) == (2, "is damaged; 2 events before that were read")


def test_large_file_takes_bounded_memory(tmp_path: Path) -> None:
    """20,000 names and 120,000 events in 25 MB: less than twice that, and none lost at the edges of the window."""
    lines = [
        json.dumps(EVENT | {"name": f"void kernel_{n % 20_000}<float, {'x' * 60}>(int)", "ts": n})
        for n in range(120_000)
    ]
    path = written(tmp_path, '{"traceEvents": [\n' + ",\n".join(lines) + "]}")
    read_trace_file(written(tmp_path, json.dumps([EVENT]), "first.json"))  # compiles
    tracemalloc.start()
    trace = read_trace_file(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (trace.columns["ts"] == 1000 * np.arange(120_000)).all()
    assert text_of(trace, "name", 119_999) == json.loads(lines[-1])["name"]
    assert peak < 2 * path.stat().st_size


def test_compressed_file_cut_short_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """The problem says so."""
    rows = [EVENT | {"ts": int(n)} for n in np.random.default_rng(1).integers(0, 10**9, 3000)]
    data = gzip.compress(json.dumps({"traceEvents": rows}).encode())
    trace = read_trace_file(written(tmp_path, data[: len(data) // 2], "trace.json.gz"))
    assert 1000 < len(trace.columns["ts"]) < 2000
    assert "ends early" in trace.problem
