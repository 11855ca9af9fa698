"""What NetFlow and IPFIX decoders remember, of several in one (see `capture.states.state_parts`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from capture.exporters.exporter_table import unpack_exporters
from capture.exporters.forgetting import address_numbers
from capture.netflow.records import sampler
from capture.netflow.templates.pending_sets import joined_waiting
from capture.netflow.wire.netflow_layout import SAMPLERS, SOURCES
from capture.states.state_parts import ProtocolPart, join_exporters
from capture.tables.packed_rows import pack_rows, unpack_rows

Table = npt.NDArray[np.void]
Words = npt.NDArray[np.int64]


def join_netflow(parts: Sequence[ProtocolPart]) -> dict[str, object]:
    """The state of a decoder that goes on for the exporters taken from several others.

    Templates, samplers and waiting sets go with their exporters. Sets that find no room wait no longer, and are not
    counted.

    Raises:
        ValueError, KeyError, TypeError: a state is damaged.
    """
    known = [unpack_exporters(part.state["exporters"])[0] for part in parts]
    joined = join_exporters(parts, [(rows["high"], rows["low"]) for rows in known])
    waiting = [part.state["waiting"] for part in parts]
    unplaced = np.array([part.state["unplaced"] for part in parts], np.int64)
    return {
        "exporters": joined.state,
        "sources": pack_rows(_sources(parts, joined.rows, joined.places)),
        "samplers": pack_rows(_samplers(parts, joined.places)),
        "templates": [
            [int(places[exporter]), *rest]
            for part, places in zip(parts, joined.places, strict=True)
            for exporter, *rest in part.state["templates"]
            if places[exporter] >= 0
        ],
        "waiting": joined_waiting(waiting, joined.places),
        "unplaced": unplaced[[part.has_sums for part in parts]].sum(axis=0).tolist(),
    }


def _sources(parts: Sequence[ProtocolPart], exporters: Table, places: Sequence[Words]) -> Table:
    """The `SOURCES` rows of the exporters; what is known of an address stands with its first exporter."""
    joined, init_ms = np.zeros(len(exporters), SOURCES), np.zeros(len(exporters), np.int64)
    for part, place in zip(parts, places, strict=True):
        rows = unpack_rows(part.state["sources"], SOURCES)
        joined[place[place >= 0]] = rows[place >= 0]
        init_ms[place[place >= 0]] = rows["init_ms"][rows["agent"]][place >= 0]
    _, first, number = np.unique(address_numbers(exporters), return_index=True, return_inverse=True)
    joined["agent"] = first[number]
    joined["init_ms"] = 0
    np.maximum.at(joined["init_ms"], joined["agent"], init_ms)
    return joined


def _samplers(parts: Sequence[ProtocolPart], places: Sequence[Words]) -> Table:
    moved = [
        sampler.moved_samplers(unpack_rows(part.state["samplers"], SAMPLERS), place, place)
        for part, place in zip(parts, places, strict=True)
    ]
    rows = np.concatenate(moved)
    _, first = np.unique(sampler.sampler_keys(rows), axis=0, return_index=True)
    kept: Table = rows[np.sort(first)][: sampler.MOST_SAMPLERS]
    return kept
