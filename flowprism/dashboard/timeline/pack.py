"""Spans on their way to the page's canvas: one small header and the columns as the browser holds them.

The form, all numbers little-endian: a header's length in bytes (uint32), that header (JSON in UTF-8, padded with
blanks to a multiple of 8 bytes with the length), then the columns one after another, each padded to 8 bytes. The
header's `columns` says the name, type and place of each. Times are milliseconds since the `zero_ms` of their part, as
float64, which holds a nanosecond over more than a month.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from datamodel.reconstructed.timeline import SPAN_NAMES, Timelines
from diagnose.patterns.critical_path import Step

Codes = npt.NDArray[np.int64]
Column = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Lane:
    """One endpoint as the canvas shows it: numbers are mean seconds per iteration, None where unknown."""

    name: str
    full: str
    address: str
    stage: int | None
    replica: int
    groups: tuple[str, ...]
    suspect: bool
    compute_s: float | None
    network_s: float | None
    wait_s: float | None
    late_s: float | None


@dataclass(frozen=True, slots=True)
class IterationBlock:
    """Neighbouring iterations, with the path each of them rests on.

    Attributes:
        timelines: their spans; of more endpoints than have lanes, perhaps.
        iterations: index, start and end in ns of each.
        path: the critical paths, one after another.
    """

    timelines: Timelines
    iterations: tuple[tuple[int, int, int], ...]
    path: tuple[Step, ...]

    def lane_of(self, lanes: Sequence[Lane]) -> Codes:
        """Lane of each code of an endpoint, -1 where it has none; the last entry serves the code -1."""
        lane = {one.address: n for n, one in enumerate(lanes)}
        return np.array([*(lane.get(address, -1) for address in self.timelines.addresses), -1], np.int64)


def packed(lanes: Sequence[Lane], shown: IterationBlock, other: IterationBlock | None) -> bytes:
    """The wire form of the iterations that are shown and, where there are some to compare with, of the others.

    Spans of endpoints without a lane are left out.
    """
    header: dict[str, object] = {"kinds": SPAN_NAMES, "lanes": [asdict(lane) for lane in lanes]}
    columns: dict[str, Column] = {}
    for name, part in (("shown", shown), ("other", other)):
        if part is not None:
            lane_of = part.lane_of(lanes)
            header[name] = _told(part, lane_of)
            columns |= {f"{name}.{column}": values for column, values in _columns(part, lane_of).items()}
    return _wire(header, columns)


def _told(part: IterationBlock, lane_of: Codes) -> dict[str, object]:
    zero = part.iterations[0][1]
    return {
        "groups": part.timelines.groups,
        "zero_ns": str(zero),
        "zero_ms": zero / 1e6,
        "iterations": [(index, (start - zero) / 1e6, (end - zero) / 1e6) for index, start, end in part.iterations],
        "path": [
            (int(lane_of[s.endpoint]), s.name, (s.start_ns - zero) / 1e6, (s.end_ns - zero) / 1e6) for s in part.path
        ],
    }


def _columns(part: IterationBlock, lane_of: Codes) -> dict[str, Column]:
    """The columns in order of lane and start."""
    lane = lane_of[part.timelines.spans["endpoint"]]
    kept = np.flatnonzero(lane >= 0)
    spans, lane = part.timelines.spans.take(kept), lane[kept]
    order = np.lexsort((spans["start_ns"], lane))
    zero = part.iterations[0][1]
    columns: dict[str, Column] = {
        "lane": lane.astype(np.uint32),
        "kind": spans["span"].astype(np.uint8),
        "start": (spans["start_ns"] - zero) / 1e6,
        "end": (spans["end_ns"] - zero) / 1e6,
        "peer": lane_of[spans["peer"]].astype(np.int32),
        "bytes": spans["bytes"].astype(np.float64),
        "group": spans["group"].astype(np.int32),
        "iteration": spans["iteration"].astype(np.int32),
    }
    return {name: values[order] for name, values in columns.items()}


def _wire(header: dict[str, object], columns: dict[str, Column]) -> bytes:
    places, body, at = [], [], 0
    for name, values in columns.items():
        data = values.astype(values.dtype.newbyteorder("<")).tobytes()
        places.append({"name": name, "type": values.dtype.str[1:], "offset": at, "length": len(values)})
        padding = -len(data) % 8
        body += [data, bytes(padding)]
        at += len(data) + padding
    text = json.dumps({**header, "columns": places}, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return b"".join([len(text).to_bytes(4, "little"), text, *body])
