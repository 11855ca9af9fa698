"""Who sends how much to whom: a matrix in the order of all pictures, coloured by role, shaded by the log of bytes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.timeline import Timelines
from datamodel.transfers import ROLES
from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.svg import Drawing
from flowprism.rendering.names import Names
from flowprism.rendering.order import Position
from flowprism.rendering.units import plural, scaled, significant, volume

MOST_CELLS = 64
_LEFT, _TOP, _SIDE = 96, 30, 448
_FAINTEST = 0.35


@dataclass(frozen=True, slots=True)
class Cell:
    """Traffic of one role from one endpoint (or block of endpoints) to another."""

    src: int
    dst: int
    role: str
    moved_bytes: int
    transfers: int
    rate_bps: float
    late_ratio: float


def cells(pairs: Frame, timelines: Timelines, placed: Sequence[Position]) -> tuple[list[Cell], int]:
    """Cells of the matrix by row and column, and how many endpoints stand in one row: 1 up to `MOST_CELLS` of them.

    Of several roles of one cell the one that moves most is shown; its bytes are those of all.
    """
    block = -(-len(placed) // MOST_CELLS)
    row_of = {p.address: (p.number - 1) // block for p in placed}
    at = np.array([row_of.get(address, -1) for address in timelines.addresses] or [-1], np.int64)
    src, dst = at[pairs["src"]], at[pairs["dst"]]
    gathered: dict[tuple[int, int], list[int]] = {}
    for n in np.flatnonzero((src >= 0) & (dst >= 0)).tolist():
        gathered.setdefault((int(src[n]), int(dst[n])), []).append(n)
    return [_cell(pairs, key, rows) for key, rows in sorted(gathered.items())], block


def _cell(pairs: Frame, key: tuple[int, int], rows: list[int]) -> Cell:
    moved = pairs["bytes"][rows]
    main = rows[int(moved.argmax())]
    transfers = int(pairs["transfers"][rows].sum())
    rate, late = float(pairs["rate_bps"][main]), float(pairs["late_ratio"][main])
    return Cell(*key, ROLES[int(pairs["role"][main])], int(moved.sum()), transfers, rate, late)


def draw_matrix(
    shown: Sequence[Cell], block: int, placed: Sequence[Position], suspects: Collection[str], names: Names
) -> str:
    """The figure: senders down, receivers across, lines between stages, suspects marked."""
    blocks = [placed[n : n + block] for n in range(0, len(placed), block)]
    size = _SIDE / len(blocks)
    drawing = Drawing(_LEFT + _SIDE + 8, _TOP + _SIDE + 8, f"Who sends to whom: {len(shown)} pairs", "matrix")
    drawing.add("rect", x=_LEFT, y=_TOP, width=_SIDE, height=_SIDE, css="lane")
    _labels(drawing, blocks, size, suspects, names)
    shades = _shades(shown)
    for cell, shade in zip(shown, shades.tolist(), strict=True):
        x, y = _LEFT + cell.dst * size, _TOP + cell.src * size
        hint = f"{_label(blocks[cell.src], names)} → {_label(blocks[cell.dst], names)}: {describe(cell)}"
        css = f"cell {cell.role}"
        gap = min(1.0, size / 8)
        width = size - gap
        drawing.add(
            "rect",
            title=hint,
            x=x + gap / 2,
            y=y + gap / 2,
            width=width,
            height=width,
            css=css,
            fill_opacity=f"{shade:.2f}",
        )
    _stages(drawing, blocks, size)
    return drawing.markup()


def describe(cell: Cell) -> str:
    """What a cell holds, in words."""
    text = f"{cell.role} {volume(cell.moved_bytes)} in {plural(cell.transfers, 'transfer')}"
    if np.isfinite(cell.rate_bps):
        text += f", median {scaled(cell.rate_bps, 'bit/s')}"
    if np.isfinite(cell.late_ratio):
        text += f", takes {significant(cell.late_ratio)} times as long as its peers"
    return text


def _shades(shown: Sequence[Cell]) -> Floats:
    """Opacity of each cell, by the log of its bytes between the least and the most."""
    logs = np.log10([max(cell.moved_bytes, 1) for cell in shown] or [1])
    reach = max(float(logs.max() - logs.min()), 1.0)
    shades: Floats = 1 - (1 - _FAINTEST) * (logs.max() - logs) / reach
    return shades[: len(shown)]


def _label(block: Sequence[Position], names: Names) -> str:
    first, last = block[0], block[-1]
    if first is last:
        return f"{first.number} {names.short(first.address)}"
    return f"{first.number} to {last.number}"


def _labels(
    drawing: Drawing, blocks: Sequence[Sequence[Position]], size: float, suspects: Collection[str], names: Names
) -> None:
    """Every row and column where there is room, else every second, fourth ..."""
    every = 1
    while size * every < 11:
        every *= 2
    drawing.add("text", "to →", x=_LEFT - 8, y=_TOP - 10, css="note end")
    for n, block in enumerate(blocks):
        hit = any(p.address in suspects for p in block)
        if n % every and not hit:
            continue
        middle = (n + 0.5) * size
        css = " hit" if hit else ""
        drawing.add("text", _label(block, names), x=_LEFT - 6, y=_TOP + middle + 4, css=f"tick end{css}")
        drawing.add("text", str(block[0].number), x=_LEFT + middle, y=_TOP - 6, css=f"tick middle{css}")


def _stages(drawing: Drawing, blocks: Sequence[Sequence[Position]], size: float) -> None:
    for n in range(1, len(blocks)):
        if blocks[n][0].stage != blocks[n - 1][0].stage:
            px = n * size
            drawing.add("line", x1=_LEFT + px, x2=_LEFT + px, y1=_TOP, y2=_TOP + _SIDE, css="divide")
            drawing.add("line", x1=_LEFT, x2=_LEFT + _SIDE, y1=_TOP + px, y2=_TOP + px, css="divide")
