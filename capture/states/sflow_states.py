"""What sFlow decoders remember, of several in one (see `capture.states.state_parts`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capture.sflow.samples import AGENT, MOST_SOURCES, SOURCE
from capture.states.state_parts import ProtocolPart, join_exporters
from capture.tables.packed_rows import pack_rows, unpack_rows


def join_sflow(parts: Sequence[ProtocolPart]) -> dict[str, object]:
    """The state of a decoder that goes on for the agents taken from several others, with their data sources.

    An agent is known by the address in its datagrams; the address that it sent from last decides whose it is.

    Raises:
        ValueError, KeyError, TypeError: a state is damaged.
    """
    agents = [unpack_rows(part.state["agents"], AGENT) for part in parts]
    joined = join_exporters(parts, [(rows["source_high"], rows["source_low"]) for rows in agents])
    sources = []
    for part, places in zip(parts, joined.places, strict=True):
        rows = unpack_rows(part.state["sources"], SOURCE).copy()
        rows["exporter"] = places[rows["exporter"]]
        sources.append(rows[rows["exporter"] >= 0])
    summed = [part.state for part in parts if part.has_sums]
    strays = np.array([part.state["strays"] for part in parts], np.int64)
    known = [rows[places >= 0] for rows, places in zip(agents, joined.places, strict=True)]
    order = np.concatenate([places[places >= 0] for places in joined.places])
    in_place = np.zeros(len(joined.rows), AGENT)
    in_place[order] = np.concatenate(known)
    return {
        "exporters": joined.state,
        "agents": pack_rows(in_place),
        "sources": pack_rows(np.concatenate(sources)[:MOST_SOURCES]),
        "strays": strays[[part.has_sums for part in parts]].sum(axis=0).tolist(),
        "refused": sum(int(state["refused"]) for state in summed),
    }
