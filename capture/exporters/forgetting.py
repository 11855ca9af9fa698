"""Which exporters a full table forgets, and where the others move.

Source addresses and domains of UDP datagrams can be spoofed. A table that keeps every exporter is filled by them once
and refuses every real exporter that is new. So a place in a full table is kept by evidence of a real exporter: records
that could be decoded, numbers that continue one another, and time. What costs a sender nothing earns nothing: eight
datagrams sent within a second are worth a second of silence. A live exporter with evidence is never forgotten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.void]
Ints = npt.NDArray[np.int64]

FORGOTTEN = "exporters forgotten for new ones (they sent too little, or were silent for longer than they sent)"

PROVEN_DATAGRAMS = 8  # an exporter with more is known: its counters can be judged (`exporter_table`)
# An exporter may be silent as long as it had sent before, and no longer than this: agents send counters every 20 to
# 30 s, meters their templates and options at least every half hour (NetFlow's default).
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

    The half that was silent longest goes. Exporters at the address of a live one go last, because options may come
    in a domain of their own, with few datagrams.

    Args:
        rows: `EXPORTER` rows.
        now_ns: when the datagram arrived that finds no room.
        most: how many.
    """
    candidate = now_ns - rows["last_ns"] > earned_silence_ns(rows)
    address = address_numbers(rows)
    with_live = np.zeros(len(rows), np.bool_)
    with_live[address[~candidate]] = True
    places = np.flatnonzero(candidate)
    order = np.lexsort((rows["last_ns"][places], with_live[address[places]]))
    chosen = places[order[: min(len(places) // 2, most)]]
    return chosen if len(chosen) >= FEWEST_FORGOTTEN else chosen[:0]


def earned_silence_ns(rows: Table) -> Ints:
    """How long each exporter may be silent before a full table may forget it; -1 where it has shown no evidence.

    Evidence is at least one record, and sequence numbers: at least half continue others, by the way of counting that
    fits best. Who numbers at random, or not at all, is known by silence alone, as one with too few datagrams is.

    Args:
        rows: `EXPORTER` rows.
    """
    datagrams = rows["datagrams"]
    has_evidence = (datagrams >= PROVEN_DATAGRAMS) & (rows["records"] > 0)
    has_evidence &= 2 * rows["misfits"].min(axis=1) <= datagrams
    sent_ns = np.clip(rows["last_ns"] - rows["first_ns"], 0, SILENT_NS)
    return np.where(has_evidence, sent_ns, -1)


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
