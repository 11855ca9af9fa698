"""A job's layout as a grid: pipeline stages down, replicas across, members of one replica's stage below one another."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from flowprism.rendering.endpoint_order import EndpointOrder, Ints
from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.svg import Drawing
from flowprism.rendering.names import Names
from flowprism.rendering.units import plural

_WIDTH, _LEFT, _TOP = 1080, 76, 22
_MOST_CELLS = 4000
_WRAP = 64  # replicas in one line, where a job has little more than replicas
_LOW = 2  # rows to a line: so few lines may be wrapped
_STEPS = (0.02, 0.05, 0.15, 0.5)
_NAMED_PX = 84
LEVELS = ("less than 2 %", "2 to 5 %", "5 to 15 %", "15 to 50 %", "50 % and more")


@dataclass(frozen=True, slots=True)
class _Shape:
    """How endpoints become cells: how many replicas and members share one, and where lines wrap.

    `stage_of` is of each endpoint the place of its stage among `names`, shape (endpoints,).
    """

    stage_of: Ints
    replicas: int
    names: tuple[int | None, ...]
    members: int
    column_block: int
    member_block: int
    wrap: int

    @property
    def stages(self) -> int:
        """Pipeline stages, what stands in none being one."""
        return len(self.names)

    @property
    def rows(self) -> int:
        """Cells below one another in a stage."""
        return -(-self.members // self.member_block)

    @property
    def columns(self) -> int:
        """Return the number of cells side by side, all lines together."""
        return -(-self.replicas // self.column_block)

    @property
    def lines(self) -> int:
        """Lines that the columns are wrapped into."""
        return -(-self.columns // self.wrap)


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell: its position, its most deviating endpoint, its first suspect, and how many it holds."""

    stage: int
    row: int
    column: int
    worst: int
    suspect: int | None
    many: int


def block_of(placed: EndpointOrder) -> int:
    """How many endpoints at most share one cell of the figure."""
    shape = _shape(placed)
    return shape.column_block * shape.member_block


def draw_layout(
    placed: EndpointOrder,
    parts: Floats,
    show: Callable[[int], str],
    suspects: Collection[str],
    names: Names,
) -> str:
    """The figure. Where endpoints share a cell it has the colour of the worst; a suspect is always framed.

    Args:
        placed: endpoints in the order of all pictures.
        parts: of each, what colours it: a part of an iteration (0.05 is 5 %), shape (endpoints,); nan is unknown.
        show: what to say of the endpoint at an index.
        suspects: addresses that incidents point at.
        names: what people call endpoints.
    """
    shape = _shape(placed)
    across = min(shape.wrap, shape.columns)
    width = min((_WIDTH - _LEFT - 4) / max(across, 1), 132)
    height = 24.0 if width >= _NAMED_PX else float(np.clip(width, 7, 20))
    line_px = shape.stages * (shape.rows * height + 5) + _TOP
    label = f"Layout: {plural(len(placed), 'endpoint')}, {shape.stages} stages, {shape.replicas} replicas"
    drawing = Drawing(_WIDTH, shape.lines * line_px + 4, label, "wide layout-grid")
    for line in range(shape.lines):
        _headings(drawing, shape, line, line * line_px, width, height)
    for cell in _cells(placed, shape, parts, suspects):
        px = _LEFT + cell.column % shape.wrap * width
        py = cell.column // shape.wrap * line_px + _TOP + cell.stage * (shape.rows * height + 5) + cell.row * height
        _draw(drawing, (px, py, width, height), cell, placed, parts, show, names)
    return drawing.markup()


def _shape(placed: EndpointOrder) -> _Shape:
    numbers, first, stage = np.unique(placed.stages, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    stage = rank[stage]
    stages = tuple(n if n >= 0 else None for n in numbers[np.argsort(first)].tolist())
    replicas = int(placed.replicas.max(initial=-1)) + 1
    members = int(np.bincount(stage * replicas + placed.replicas, minlength=1).max())
    blocks = [
        (block, -(-(len(stages) * -(-members // block) * replicas) // _MOST_CELLS) or 1)
        for block in (1, max(members, 1))
    ]
    member_block, column_block = blocks[0] if blocks[0][1] <= 1 else blocks[1]
    columns = -(-replicas // column_block)
    low = len(stages) * -(-members // member_block) <= _LOW
    wrap = _WRAP if low else max(columns, 1)
    return _Shape(stage, replicas, stages, members, column_block, member_block, wrap)


def _cells(placed: EndpointOrder, shape: _Shape, parts: Floats, suspects: Collection[str]) -> list[_Cell]:
    """Every cell with an endpoint in it, in order of stages, rows and columns."""
    order = np.lexsort((placed.replicas, shape.stage_of))
    begins = _begins((shape.stage_of * shape.replicas + placed.replicas)[order])
    member = np.empty(len(placed), np.int64)
    member[order] = np.arange(len(placed)) - np.repeat(begins, np.diff(begins, append=len(placed)))
    row, column = member // shape.member_block, placed.replicas // shape.column_block
    cell = (shape.stage_of * shape.rows + row) * shape.columns + column
    order = np.lexsort((np.where(np.isfinite(parts), -parts, np.inf), cell))
    begins = _begins(cell[order])
    many, worst = np.diff(begins, append=len(placed)).tolist(), order[begins]
    marked = [n for n, address in enumerate(placed.addresses) if address in suspects] if suspects else []
    hit = {int(cell[n]): n for n in reversed(marked)}
    suspect = [hit.get(own) for own in cell[worst].tolist()]
    columns = [values[worst].tolist() for values in (shape.stage_of, row, column)]
    return list(map(_Cell, *columns, worst.tolist(), suspect, many))


def _begins(ordered: Ints) -> Ints:
    """Return the starts of runs of equal non-negative numbers."""
    return np.flatnonzero(np.diff(ordered, prepend=-1))


def _headings(drawing: Drawing, shape: _Shape, line: int, top: float, width: float, height: float) -> None:
    first, last = line * shape.wrap, min((line + 1) * shape.wrap, shape.columns)
    every = max(round(40 / width), 1)
    for column in range(first, last, every):
        number = column * shape.column_block + 1
        drawing.add("text", str(number), x=_LEFT + (column - first + 0.5) * width, y=top + 14, css="tick middle")
    across = "replica" if shape.replicas < len(shape.stage_of) else "no."  # each alone: replicas are not known
    drawing.add("text", across, x=_LEFT - 8, y=top + 14, css="tick end")
    for at, stage in enumerate(shape.names):
        words = "all" if stage is None and shape.stages == 1 else "no stage" if stage is None else f"stage {stage}"
        middle = top + _TOP + at * (shape.rows * height + 5) + shape.rows * height / 2
        drawing.add("text", words, x=_LEFT - 8, y=middle + 4, css="stage end")


def _draw(
    drawing: Drawing,
    box: tuple[float, float, float, float],
    cell: _Cell,
    placed: EndpointOrder,
    parts: Floats,
    show: Callable[[int], str],
    names: Names,
) -> None:
    px, py, width, height = box
    part = float(parts[cell.worst])
    known, hit = math.isfinite(part), cell.suspect is not None
    named = cell.worst if cell.suspect is None else cell.suspect
    hint = f"{names.full(placed.addresses[named])}: {show(named)}"
    hint += f"; the worst of {cell.many} endpoints" if cell.many > 1 and not hit else ""
    css = f"place-cell h{_level(part)}" if known else "place-cell unknown"
    drawing.add("rect", title=hint, x=px, y=py, width=width, height=height, css=css)
    if hit:
        frame = "place-cell suspect-mark"
        drawing.add("rect", title=hint, x=px + 1.5, y=py + 1.5, width=width - 3, height=height - 3, css=frame)
    if width >= _NAMED_PX and cell.many == 1:
        name = names.short(placed.addresses[named])
        strong = " strong" if known and _level(part) >= 3 else ""
        drawing.add("text", name, x=px + width / 2, y=py + height / 2 + 4, css=f"cell-name middle{strong}")


def _level(part: float) -> int:
    return bisect_right(_STEPS, part)
