"""GoFlow2's JSON as columns of `FLOWS`: nothing is translated, since they have its names; sFlow sizes are doubted."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from capture.dialect import Dialect, text_column
from capture.goflow2.flow_message import FRAMES
from datamodel.flows import FLOWS


def _translate(table: pa.Table, doubts: Counter[str]) -> pa.Table:
    doubts[FRAMES] += int(pc.sum(pc.equal(text_column(table, "type"), "SFLOW_5")).as_py() or 0)
    return table.drop_columns(["type"])


GOFLOW2 = Dialect(
    name="GoFlow2 JSON",
    signature=(frozenset({"type", "sampler_address", "layer_stack"}),),
    columns=frozenset({*FLOWS.names, "type"}),
    required=tuple((c.name,) for c in FLOWS if c.required),
    translate=_translate,
)
