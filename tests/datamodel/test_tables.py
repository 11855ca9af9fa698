"""Declared tables: what a frame accepts, completes and refuses."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.errors import SchemaError
from datamodel.frame import Frame, Schema, concat, empty
from datamodel.frame_builder import FrameBuilder
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.patterns import PATTERNS
from datamodel.reconstructed.timeline import SPANS
from datamodel.reconstructed.transfers import PAIRS, TRANSFERS
from datamodel.telemetry.counters import COUNTERS, DROPS
from datamodel.telemetry.flows import FLOWS, recode

TABLES = (FLOWS, COUNTERS, DROPS, TRANSFERS, OPERATIONS, PAIRS, SPANS)


@pytest.mark.parametrize("schema", TABLES, ids=lambda s: s.name)
def test_every_table_names_its_columns_once_with_unit_and_meaning(schema: Schema) -> None:
    """No column stands twice, each says what it means, and numbers of time and volume name their unit."""
    assert len(set(schema.names)) == len(schema.names)
    for column in schema:
        assert column.meaning
        for suffix, unit in (("_ns", "ns"), ("_bytes", "B"), ("_bps", "bit/s")):
            assert column.unit == unit or not column.name.endswith(suffix)
        assert np.dtype(column.dtype).kind in "biuf"


@pytest.mark.parametrize("schema", TABLES, ids=lambda s: s.name)
def test_optional_columns_are_filled(schema: Schema) -> None:
    """A frame of the required columns alone has all the others, at their defaults."""
    frame = Frame(schema, {c.name: np.zeros(3, c.dtype) for c in schema if c.required})
    for column in schema:
        assert len(frame[column.name]) == 3
        assert column.required or (frame[column.name] == column.default).all()


def test_unknown_missing_and_uneven_columns_are_refused() -> None:
    """The error names the table and the column."""
    with pytest.raises(SchemaError, match="drops: unknown column 'colour'"):
        Frame(DROPS, {"colour": [1]})
    with pytest.raises(SchemaError, match="drops: required column 'reason' is missing"):
        Frame(DROPS, {"time_ns": [1], "sampler_address": [0]})
    with pytest.raises(SchemaError, match="drops: column 'reason' has shape"):
        Frame(DROPS, {"time_ns": [1], "sampler_address": [0], "reason": [1, 2]})


def test_sort_take_and_concat_keep_rows_whole() -> None:
    """Rows move as a whole, and equal keys keep their order."""
    frame = Frame(DROPS, {"time_ns": [3, 1, 1], "sampler_address": [0, 1, 2], "reason": [7, 8, 9]})
    assert frame.sort("time_ns")["reason"].tolist() == [8, 9, 7]
    assert frame.take(frame["time_ns"] == 1)["sampler_address"].tolist() == [1, 2]
    both = concat(DROPS, [frame, empty(DROPS), frame.replace(packets=[5, 5, 5])])
    assert both["packets"].tolist() == [1, 1, 1, 5, 5, 5]


def test_sort_by_numbers_that_are_not_whole() -> None:
    """What is not known comes last, as a plain comparison has it, and equal keys keep their order."""
    late = [0.5, np.nan, -0.25, 0.5]
    frame = Frame(PATTERNS, {"endpoint": [3, 0, 2, 1], "role": [7, 7, 7, 7], "late_ratio": late})
    assert frame.sort("late_ratio")["endpoint"].tolist() == [2, 3, 1, 0]
    assert frame.sort("late_ratio", "endpoint")["endpoint"].tolist() == [2, 1, 3, 0]


def test_columns_left_out_cost_nothing_whatever_becomes_of_them() -> None:
    """A default stays a view of one value when rows are taken and frames joined, and ends where it meets another."""
    frame = Frame(DROPS, {"time_ns": [3, 1, 1], "sampler_address": [0, 1, 2], "reason": [7, 8, 9]})
    both = concat(DROPS, [frame.take([0, 2]), empty(DROPS), frame.take(frame["time_ns"] == 3)])
    assert both["packets"].strides == (0,)
    assert both["packets"].tolist() == [1, 1, 1]
    assert concat(DROPS, [both, frame.replace(packets=[5, 5, 5])])["packets"].tolist() == [1, 1, 1, 5, 5, 5]


@pytest.mark.parametrize("expected_rows", [0, 3, 100])
def test_gathered_parts_are_one_frame(expected_rows: int) -> None:
    """Parts with different columns, some empty, give what joining their frames gives, whatever room was expected."""
    parts: list[dict[str, list[int]]] = [
        {"time_ns": [3, 1], "sampler_address": [0, 1], "reason": [7, 8]},
        {"time_ns": [], "sampler_address": [], "reason": []},
        {"time_ns": [5], "sampler_address": [4], "reason": [1], "packets": [6]},
        {"time_ns": [2], "sampler_address": [3], "reason": [2]},
    ]
    gathering = FrameBuilder(DROPS, expected_rows)
    for part in parts:
        gathering.add(len(part["time_ns"]), {name: np.array(values) for name, values in part.items()})
    whole = concat(DROPS, [Frame(DROPS, part) for part in parts])
    found = gathering.frame()
    assert all(found[name].tolist() == whole[name].tolist() for name in DROPS.names)
    assert not len(FrameBuilder(DROPS).frame())


def test_a_gathered_column_of_one_value_costs_nothing_until_it_meets_another() -> None:
    """Of a large feed protocol, destination port and opcodes are the same in every row; rows must hold their times."""
    part = {"time_ns": [3, 3], "sampler_address": [0, 1], "reason": [7, 7], "packets": [6, 6]}
    columns = {name: np.array(values) for name, values in part.items()}
    gathering = FrameBuilder(DROPS)
    for _ in range(2):
        gathering.add(2, columns)
    found = gathering.frame()
    assert (found["packets"].strides, found["packets"].tolist()) == ((0,), [6, 6, 6, 6])
    assert found["time_ns"].strides != (0,)
    gathering.add(2, columns | {"packets": np.array([6, 5])})
    gathering.add(2, {name: column for name, column in columns.items() if name != "packets"})
    assert gathering.frame()["packets"].tolist() == [6, 6, 6, 6, 6, 5, 1, 1]


def test_a_part_without_rows_changes_nothing() -> None:
    """All records of a batch may have been rejected."""
    part = {name: np.array([value]) for name, value in (("time_ns", 3), ("sampler_address", 0), ("reason", 7))}
    nothing = {name: column[:0] for name, column in (part | {"packets": np.array([6])}).items()}
    gathering = FrameBuilder(DROPS)
    gathering.add(0, nothing)
    assert not len(gathering.frame())
    gathering.add(1, part | {"packets": np.array([6])})
    gathering.add(0, nothing)
    assert gathering.frame()["packets"].tolist() == [6]


def test_recode_sorts_the_address_book_and_drops_what_nobody_uses() -> None:
    """Equal records get equal codes, whatever order their addresses were met in."""
    times = {"time_flow_start_ns": [1, 2], "time_flow_end_ns": [1, 2], "bytes": [3, 4]}
    flows = recode(Frame(FLOWS, times | {"src_addr": [0, 2], "dst_addr": [3, 3]}), ("b", "unused", "c", "a"))
    assert flows.addresses == ("a", "b", "c")
    assert flows.frame["src_addr"].tolist() == [1, 2]
    assert flows.frame["dst_addr"].tolist() == [0, 0]
    assert flows.frame["sampler_address"].tolist() == [-1, -1]
