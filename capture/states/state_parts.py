"""States of several decoders joined to that of one, when exporters are divided among other workers.

What is known of an exporter moves as a whole: its row with the sequence numbers, and all that points to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from capture.exporters.exporter_table import FORGOTTEN_SUMS, MOST_EXPORTERS, add_lost, exporter_keys, unpack_exporters
from capture.tables.packed_rows import pack_rows

Table = npt.NDArray[np.void]
Words = npt.NDArray[np.int64]
Owned = Callable[[Words, Words], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class StatePart:
    """What one of several decoders remembered.

    Attributes:
        state: as the decoder's `state` gave it.
        owned: which source addresses (high, low words) are to be taken from it.
        has_sums: whether its sums that belong to no exporter are to be taken, too.
    """

    state: bytes
    owned: Owned
    has_sums: bool


@dataclass(frozen=True, slots=True)
class ProtocolPart:
    """The same of the decoder of one kind of protocols: `state` are JSON values."""

    state: dict[str, Any]
    owned: Owned
    has_sums: bool


@dataclass(frozen=True, slots=True)
class JoinedExporters:
    """The exporters of several tables in one.

    Attributes:
        rows: one `EXPORTER` each.
        state: of the `capture.exporters.exporter_table.ExporterTable` that holds them.
        places: for each part the new place of each of its exporters, -1 where it is not taken.
    """

    rows: Table
    state: list[str]
    places: tuple[Words, ...]


def join_exporters(parts: Sequence[ProtocolPart], addresses: Sequence[tuple[Words, Words]]) -> JoinedExporters:
    """The exporters that are taken, in order of the parts.

    One that several parts know (an sFlow agent that sends from several addresses) is taken from the newest one.

    Args:
        parts: the states.
        addresses: for each part the source address of each exporter.

    Raises:
        ValueError, KeyError, TypeError: a state is damaged.
    """
    tables = [unpack_exporters(part.state["exporters"]) for part in parts]
    taken = [np.flatnonzero(part.owned(*address)) for part, address in zip(parts, addresses, strict=True)]
    rows = np.concatenate([table[0][chosen] for table, chosen in zip(tables, taken, strict=True)])
    forgotten = np.zeros(1, FORGOTTEN_SUMS)
    for part, (_, sums) in zip(parts, tables, strict=True):
        if part.has_sums:
            for name in FORGOTTEN_SUMS.names or ():
                forgotten[name] += sums[name]
    kept = _newest(rows)
    left_out = np.setdiff1d(np.arange(len(rows)), kept)
    add_lost(rows[left_out], forgotten[0]["lost"])
    forgotten[0]["rejected"] += rows["rejected"][left_out].sum(axis=0)
    joined = np.full(len(rows), -1)
    joined[kept] = np.arange(len(kept))
    ends = np.cumsum([len(chosen) for chosen in taken])
    places = []
    for (exporters, _), chosen, end in zip(tables, taken, ends.tolist(), strict=True):
        place = np.full(len(exporters), -1)
        place[chosen] = joined[end - len(chosen) : end]
        places.append(place)
    return JoinedExporters(rows[kept], [pack_rows(rows[kept]), pack_rows(forgotten)], tuple(places))


def _newest(rows: Table) -> Words:
    """Places of the rows to keep: of each exporter the one with the newest datagram, as many as a table holds."""
    order = np.argsort(-rows["last_ns"], kind="stable")
    _, first = np.unique(exporter_keys(rows)[order], axis=0, return_index=True)
    return np.sort(order[np.sort(first)[:MOST_EXPORTERS]])
