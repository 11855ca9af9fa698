"""Which exporters a full table forgets, and where the others move.

Source addresses and domains of UDP datagrams can be spoofed. A table that keeps every exporter is filled by them once
and refuses every real exporter that is new. So a full table forgets the exporters silent longest among those that
sent only a few datagrams, or nothing for long: a live exporter that has sent more is never forgotten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.void]
Ints = npt.NDArray[np.int64]

FORGOTTEN = "exporters forgotten for new ones (they sent fewer than 8 datagrams, or none for an hour)"

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

    The half that was silent longest goes. Exporters at the address of a live one go last, because options may come
    in a domain of their own, with few datagrams.

    Args:
        rows: `EXPORTER` rows.
        now_ns: when the datagram arrived that finds no room.
        most: how many.
    """
    candidate = (rows["datagrams"] < PROVEN_DATAGRAMS) | (now_ns - rows["last_ns"] > SILENT_NS)
    address = address_numbers(rows)
    with_live = np.zeros(len(rows), np.bool_)
    with_live[address[~candidate]] = True
    places = np.flatnonzero(candidate)
    order = np.lexsort((rows["last_ns"][places], with_live[address[places]]))
    chosen = places[order[: min(len(places) // 2, most)]]
    return chosen if len(chosen) >= FEWEST_FORGOTTEN else chosen[:0]


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
