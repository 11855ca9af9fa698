"""Traffic matrix by one measure at a time: volume, rate or delay, with the rows and columns that stand out.

Large matrices are drawn in blocks, and each block shows the pair in it that stands out most: the largest volume, the
rate lowest against its like, the longest delay. An unusual pair is never averaged away.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from datamodel.frame import Frame
from datamodel.reconstructed.transfers import ROLES
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.iterations import WITHIN
from flowprism.rendering.figures.svg import Drawing
from flowprism.rendering.names import Names
from flowprism.rendering.phrases import within
from flowprism.rendering.units import plural, scaled, significant, volume

Measure = Literal["volume", "rate", "delay"]
MEASURES: tuple[Measure, ...] = ("volume", "rate", "delay")

MOST_ROWS = 96
_LEFT, _TOP, _SIDE, _MARGIN = 104, 84, 760, 64
_FAINTEST = 0.3
_HOT = 1.3  # a row stands out that is so many times as hot as the median of rows, and among the hottest
_MOST_HOT = 8
_SLOWEST = 4.0  # times as slow as its like, where the shade is full


@dataclass(frozen=True, slots=True)
class Heat:
    """A matrix by blocks of endpoints.

    Attributes:
        measure: what is shown.
        order: the endpoints, in the order of rows and columns.
        block: how many of them share a row.
        src, dst: row and column of each cell, shape (cells,).
        pair: the pair that stands out most in each cell, a row of `pairs`.
        heat: how much it stands out: bytes, or how many times as slow as its like; nan where unknown.
        moved: bytes of all pairs of the cell.
        many: number of pairs of the cell.
        rows, columns: of each row and column the sum of bytes, or the largest heat; nan where nothing is known.
        pairs: the pairs between endpoints of `order`.
        addresses: what the pairs' codes mean.
    """

    measure: Measure
    order: tuple[Position, ...]
    block: int
    src: npt.NDArray[np.int64]
    dst: npt.NDArray[np.int64]
    pair: npt.NDArray[np.int64]
    heat: Floats
    moved: npt.NDArray[np.int64]
    many: npt.NDArray[np.int64]
    rows: Floats
    columns: Floats
    pairs: Frame
    addresses: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of rows, and of columns."""
        return -(-len(self.order) // self.block)

    def blocks(self) -> list[tuple[Position, ...]]:
        """The endpoints of each row."""
        return [self.order[n : n + self.block] for n in range(0, len(self.order), self.block)]


def heat(pairs: Frame, addresses: tuple[str, ...], order: Sequence[Position], measure: Measure) -> Heat:
    """The matrix of some pairs (`datamodel.reconstructed.transfers.PAIRS`) between the endpoints `order`."""
    block = max(-(-len(order) // MOST_ROWS), 1)
    row_of = {p.address: n // block for n, p in enumerate(order)}
    at = np.array([row_of.get(address, -1) for address in addresses] or [-1], np.int64)
    inside = pairs.take(np.flatnonzero((at[pairs["src"]] >= 0) & (at[pairs["dst"]] >= 0)))
    values = standing_out(inside, measure)
    src, dst = at[inside["src"]], at[inside["dst"]]
    by_heat = np.lexsort((-np.nan_to_num(values, nan=-1.0), dst, src))
    src, dst = src[by_heat], dst[by_heat]
    first = np.flatnonzero(np.append(True, (src[1:] != src[:-1]) | (dst[1:] != dst[:-1]))) if len(src) else by_heat
    moved = np.add.reduceat(inside["bytes"][by_heat], first) if len(first) else np.empty(0, np.int64)
    many = np.diff(np.append(first, len(src)))
    pair = by_heat[first]
    size = max(-(-len(order) // block), 1)
    rows, columns = (_margin(side[first], values[pair], moved, size, measure) for side in (src, dst))
    return Heat(
        measure, tuple(order), block, src[first], dst[first], pair, values[pair], moved, many, rows, columns, inside,
        addresses,
    )  # fmt: skip


def standing_out(pairs: Frame, measure: Measure) -> Floats:
    """Compute how much each pair stands out; nan where unknown."""
    if measure == "volume":
        return pairs["bytes"].astype(np.float64)
    if measure == "delay":
        return pairs["late_ratio"].astype(np.float64)
    slowness = np.full(len(pairs), np.nan)
    for role in np.unique(pairs["role"]):
        own = (pairs["role"] == role) & (pairs["rate_bps"] > 0)
        if own.any():
            slowness[own] = np.median(pairs["rate_bps"][own]) / pairs["rate_bps"][own]
    return slowness


def _margin(
    at: npt.NDArray[np.int64], values: Floats, moved: npt.NDArray[np.int64], size: int, measure: Measure
) -> Floats:
    total = np.full(size, np.nan)
    if measure == "volume":
        np.fmax.at(total, at, 0.0)
        np.add.at(total, at, moved)
    else:
        np.fmax.at(total, at, values)
    return total


def hot(margin: Floats) -> list[int]:
    """Rows or columns that stand out, the hottest first."""
    known = np.isfinite(margin)
    if known.sum() < 3:
        return []
    usual = float(np.median(margin[known]))
    found = [n for n in np.flatnonzero(known).tolist() if margin[n] > _HOT * max(usual, 1e-12)]
    return sorted(found, key=lambda n: (-margin[n], n))[:_MOST_HOT]


def draw_heat(
    shown: Heat,
    suspects: Collection[str],
    names: Names,
    part_of: Callable[[Position], int | None] = lambda position: position.stage,
) -> str:
    """The figure: senders down, receivers across, at the margins how hot each row and column is, suspects marked.

    Lines part the rows of different parts, by default pipeline stages.
    """
    size = _SIDE / shown.size
    label = f"Traffic matrix by {shown.measure}: {plural(len(shown.src), 'cell')}"
    drawing = Drawing(_LEFT + _SIDE + _MARGIN + 12, _TOP + _SIDE + _MARGIN + 12, label, "heat wide")
    drawing.add("rect", x=_LEFT, y=_TOP, width=_SIDE, height=_SIDE, css="lane")
    blocks = shown.blocks()
    marked = frozenset(n for n, block in enumerate(blocks) if any(p.address in suspects for p in block))
    _labels(drawing, blocks, size, marked, names)
    shades = _shades(shown)
    gap = min(1.0, size / 8)
    for n in range(len(shown.src)):
        src, dst = int(shown.src[n]), int(shown.dst[n])
        drawing.add(
            "rect", title=describe(shown, n, names), x=_LEFT + dst * size + gap / 2, y=_TOP + src * size + gap / 2,
            width=size - gap, height=size - gap, css=f"cell {_css(shown, n)}", fill_opacity=f"{shades[n]:.2f}",
            data_cell=f"{src} {dst}",
        )  # fmt: skip
    _divides(drawing, [part_of(block[0]) for block in blocks], size)
    _margins(drawing, shown, size)
    return drawing.markup()


def table(shown: Heat, names: Names, most: int) -> list[tuple[str, str, str]]:
    """Build the figure's table: sender, receiver and text of the cells that stand out most."""
    blocks = shown.blocks()
    order = np.argsort(-np.nan_to_num(shown.heat, nan=-1.0), kind="stable")[:most].tolist()
    return [
        (_row_name(blocks[int(shown.src[n])], names), _row_name(blocks[int(shown.dst[n])], names), _words(shown, n))
        for n in order
    ]


def roles(shown: Heat) -> list[str]:
    """What the cells carry, for a legend of their colours."""
    return sorted({ROLES[code] for code in shown.pairs["role"][shown.pair].tolist()})


def _css(shown: Heat, n: int) -> str:
    return ROLES[int(shown.pairs["role"][shown.pair[n]])] if shown.measure == "volume" else "slow"


def describe(shown: Heat, n: int, names: Names) -> str:
    """A cell in words: the pair that stands out in it, and how many there are."""
    row = int(shown.pair[n])
    pairs = shown.pairs
    src, dst = (shown.addresses[int(pairs[end][row])] for end in ("src", "dst"))
    return f"{names.full(src)} → {names.full(dst)}: {_words(shown, n)}"


def _words(shown: Heat, n: int) -> str:
    text, many = describe_profile(shown.pairs, int(shown.pair[n])), int(shown.many[n])
    return text if many == 1 else f"{text} ({plural(many, 'pair')} here, {volume(int(shown.moved[n]))} in all)"


def _row_name(block: Sequence[Position], names: Names) -> str:
    return names.full(block[0].address) if len(block) == 1 else f"{block[0].number} to {block[-1].number}"


def describe_profile(pairs: Frame, row: int) -> str:
    """What a pair moved, how fast and how late, in words."""
    text = f"{ROLES[int(pairs['role'][row])]} {volume(int(pairs['bytes'][row]))}"
    text += within(WITHIN * float(pairs["bytes_error"][row]), "B")
    transfers = int(pairs["transfers"][row])
    text += f" in {plural(transfers, 'transfer')}" if transfers else ""
    rate, late = float(pairs["rate_bps"][row]), float(pairs["late_ratio"][row])
    if np.isfinite(rate):
        text += f", {'median' if transfers else 'ring at'} {scaled(rate, 'bit/s')}"
        text += within(WITHIN * float(pairs["rate_error_bps"][row]), "bit/s")
    return text + (f", takes {significant(late)} times as long as its peers" if np.isfinite(late) else "")


def _shades(shown: Heat) -> Floats:
    """Opacity of each cell: by the log of bytes between least and most, or of slowness between 1 and `_SLOWEST`."""
    if len(shown.heat) == 0:
        return shown.heat
    known = np.isfinite(shown.heat)
    if shown.measure == "volume":
        logs = np.log10(np.maximum(shown.heat, 1))
        share = 1 - (logs.max() - logs) / max(float(logs.max() - logs.min()), 1.0)
        shades: Floats = _FAINTEST + (1 - _FAINTEST) * share
        return shades
    slow = np.log(np.clip(np.where(known, shown.heat, 1.0), 1.0, _SLOWEST)) / np.log(_SLOWEST)
    return np.where(known, 0.14 + 0.86 * slow, 0.06)


def _name(block: Sequence[Position], names: Names) -> str:
    return names.short(block[0].address) if len(block) == 1 else f"{block[0].number} to {block[-1].number}"


def _labels(
    drawing: Drawing, blocks: Sequence[Sequence[Position]], size: float, marked: frozenset[int], names: Names
) -> None:
    """Every row and column where there is room, else every second, fourth ...; columns read upwards."""
    every = 1
    while size * every < 13:
        every *= 2
    drawing.add("text", "from ↓  to →", x=_LEFT - 8, y=_TOP - 8, css="note end")
    for n, block in enumerate(blocks):
        if n % every:
            continue
        middle = (n + 0.5) * size
        css = " hit" if not marked.isdisjoint(range(n, n + every)) else ""
        drawing.add("text", _name(block, names), x=_LEFT - 6, y=_TOP + middle + 4, css=f"tick end{css}")
        x, y = _LEFT + middle + 4, _TOP - 6.0
        turned = f"rotate(-90 {x:.1f} {y:.1f})"
        drawing.add("text", _name(block, names), x=x, y=y, transform=turned, css=f"tick start{css}")


def _divides(drawing: Drawing, parts: Sequence[int | None], size: float) -> None:
    for n in range(1, len(parts)):
        if parts[n] != parts[n - 1]:
            px = n * size
            drawing.add("line", x1=_LEFT + px, x2=_LEFT + px, y1=_TOP, y2=_TOP + _SIDE, css="divide")
            drawing.add("line", x1=_LEFT, x2=_LEFT + _SIDE, y1=_TOP + px, y2=_TOP + px, css="divide")


def _margins(drawing: Drawing, shown: Heat, size: float) -> None:
    """A bar for each row at the right, for each column below; those that stand out are marked."""
    known = [v for v in (*shown.rows, *shown.columns) if np.isfinite(v)]
    base = 0.0 if shown.measure == "volume" else min([1.0, *known])
    top = max([*known, 1e-12 if shown.measure == "volume" else 1.5])
    for margin, across in ((shown.rows, False), (shown.columns, True)):
        hottest = hot(margin)
        for n, value in enumerate(margin.tolist()):
            if not np.isfinite(value):
                continue
            length = _MARGIN * (value - base) / max(top - base, 1e-12)
            css = "margin hit" if n in hottest else "margin"
            text = volume(value) if shown.measure == "volume" else f"{significant(value)} times as slow as usual"
            start, thick = n * size + size * 0.1, size * 0.8
            place = (
                {"x": _LEFT + start, "y": _TOP + _SIDE + 6, "width": thick, "height": max(length, 0.5)}
                if across
                else {"x": _LEFT + _SIDE + 6, "y": _TOP + start, "width": max(length, 0.5), "height": thick}
            )
            drawing.add("rect", title=text, css=css, **place)
