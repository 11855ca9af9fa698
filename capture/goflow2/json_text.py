"""GoFlow2's JSON as columns of `FLOWS`: the names are the same; sizes and times are checked."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from capture.dialects.dialect import RecordDialect, text_column
from capture.goflow2.flow_message import EXPORT_SECOND, FRAMES
from datamodel.telemetry.flows import FLOWS


def _translate(table: pa.Table, doubts: Counter[str]) -> pa.Table:
    kind = text_column(table, "type")
    doubts[FRAMES] += _count(pc.equal(kind, "SFLOW_5"))
    start, end = (text_column(table, f"time_flow_{edge}_ns") for edge in ("start", "end"))
    at_export = pc.and_(pc.equal(start, end), pc.ends_with(start, "0" * 9))
    several = pc.invert(pc.is_in(text_column(table, "packets"), pa.array(["0", "1"])))
    templated = pc.is_in(kind, pa.array(["NETFLOW_V9", "IPFIX"]))
    doubts[EXPORT_SECOND] += _count(pc.and_(pc.and_(at_export, several), templated))
    return table.drop_columns(["type"])


def _count(rows: pa.Array) -> int:
    return int(pc.sum(rows).as_py() or 0)


GOFLOW2 = RecordDialect(
    name="GoFlow2 JSON",
    signature=(frozenset({"type", "sampler_address", "layer_stack"}),),
    columns=frozenset({*FLOWS.names, "type"}),
    required=tuple((c.name,) for c in FLOWS if c.required),
    translate=_translate,
)
