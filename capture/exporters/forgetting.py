"""Which exporters a full table forgets, and where the others move.

Source addresses and domains of UDP datagrams can be spoofed. A table that keeps every exporter is filled by them once
and refuses every real exporter that is new. So a place in a full table is kept by evidence of a real exporter: records
that could be decoded, numbers that continue one another, and time. Exporters without the first two go first. Where all
have them, what costs a sender nothing earns nothing: eight datagrams sent within a second are worth a second of
silence. A live exporter with evidence is never forgotten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.void]
Ints = npt.NDArray[np.int64]

FORGOTTEN = "exporters forgotten for new ones (they sent too little, or were silent for longer than they sent)"

PROVEN_DATAGRAMS = 8  # an exporter with more is known: its counters can be judged (`exporter_table`)
# Agents send counters every 20 to 30 s, and meters their templates and options at least every half hour (NetFlow's
# default); an exporter silent for twice as long is gone.
SILENT_NS = 3600 * 1_000_000_000
FEWEST_FORGOTTEN = 1024  # fewer are not worth moving the rest


class Moves(NamedTuple):
    """Where exporters are after some were forgotten.

    Attributes:
        places: shape (exporters before,): the place of each now, -1 where it was forgotten.
        kept: how many there are now.
    """

    places: Ints
    kept: int

    def apply(self, rows: npt.NDArray[Any]) -> None:
        """Move rows of exporters to their new places; what is behind them becomes zero."""
        moved = np.flatnonzero((self.places >= 0) & (self.places != np.arange(len(self.places))))
        rows[self.places[moved]] = rows[moved]
        rows[self.kept : len(self.places)] = np.zeros(1, rows.dtype)


def forgettable(rows: Table, now_ns: int, most: int) -> Ints:
    """Places of the exporters to forget: half of those that may be, at most `most`; none where that is too few.

    Those that have shown no evidence, or sent nothing for `SILENT_NS`; where they are too few, also those that were
    silent for longer than they had sent. The half that was silent longest goes. Exporters at the address of one that
    stays go last, because options may come in a domain of their own, with few datagrams.

    Args:
        rows: `EXPORTER` rows.
        now_ns: when the datagram arrived that finds no room.
        most: how many.
    """
    silent_ns = now_ns - rows["last_ns"]
    weak = ~has_evidence(rows) | (silent_ns > SILENT_NS)
    chosen = _longest_silent(rows, weak, most)
    if len(chosen) < FEWEST_FORGOTTEN:
        chosen = _longest_silent(rows, weak | (silent_ns > rows["last_ns"] - rows["first_ns"]), most)
    return chosen if len(chosen) >= FEWEST_FORGOTTEN else chosen[:0]


def has_evidence(rows: Table) -> npt.NDArray[np.bool_]:
    """Whether each exporter has shown that it is a real one.

    Evidence is at least one record, and sequence numbers: at least half continue others, by the way of counting that
    fits best. Who numbers at random, or not at all, is known by silence alone, as one with too few datagrams is.

    Args:
        rows: `EXPORTER` rows.
    """
    datagrams = rows["datagrams"]
    is_numbered = 2 * rows["misfits"].min(axis=1) <= datagrams
    found: npt.NDArray[np.bool_] = (datagrams >= PROVEN_DATAGRAMS) & (rows["records"] > 0) & is_numbered
    return found


def _longest_silent(rows: Table, candidate: npt.NDArray[np.bool_], most: int) -> Ints:
    """Places of the half of the candidates to forget."""
    address = address_numbers(rows)
    stays = np.zeros(len(rows), np.bool_)
    stays[address[~candidate]] = True
    places = np.flatnonzero(candidate)
    order = np.lexsort((rows["last_ns"][places], stays[address[places]]))
    return places[order[: min(len(places) // 2, most)]]


def moves_without(chosen: Ints, exporters: int) -> Moves:
    """Moves that forget the chosen of so many exporters and fill their places with the last ones."""
    kept = exporters - len(chosen)
    stays = np.ones(exporters, np.bool_)
    stays[chosen] = False
    places = np.where(stays, np.arange(exporters), -1)
    places[kept + np.flatnonzero(stays[kept:])] = np.flatnonzero(~stays[:kept])
    return Moves(places, kept)


def address_numbers(rows: Table) -> Ints:
    """A number for each exporter's protocol and address, the same for those of several domains."""
    order = np.lexsort((rows["low"], rows["high"], rows["protocol"]))
    ordered = rows[["protocol", "high", "low"]][order]
    numbers = np.zeros(len(rows), np.int64)
    numbers[order[1:]] = np.cumsum(ordered[1:] != ordered[:-1])
    return numbers
