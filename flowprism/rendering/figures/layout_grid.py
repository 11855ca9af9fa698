"""A job's layout as a grid: pipeline stages down, replicas across, members of one replica's stage below one another."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.svg import Drawing
from flowprism.rendering.names import Names
from flowprism.rendering.order import Position
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
    """How endpoints become cells: how many replicas and members share one, and where lines wrap."""

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
        """Cells beside one another, all lines together."""
        return -(-self.replicas // self.column_block)

    @property
    def lines(self) -> int:
        """Lines that the columns are wrapped into."""
        return -(-self.columns // self.wrap)


def block_of(placed: Sequence[Position]) -> int:
    """How many endpoints at most share one cell of the figure."""
    shape = _shape(placed)
    return shape.column_block * shape.member_block


def draw_layout(
    placed: Sequence[Position],
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
    for cell, indices in sorted(_cells(placed, shape).items()):
        stage, row, column = cell
        px = _LEFT + column % shape.wrap * width
        py = column // shape.wrap * line_px + _TOP + stage * (shape.rows * height + 5) + row * height
        _cell(drawing, (px, py, width, height), indices, placed, parts, show, suspects, names)
    return drawing.markup()


def _shape(placed: Sequence[Position]) -> _Shape:
    replicas = max((p.replica for p in placed), default=-1) + 1
    stages = tuple(dict.fromkeys(p.stage for p in placed))
    counts: dict[tuple[int | None, int], int] = {}
    for p in placed:
        counts[p.stage, p.replica] = counts.get((p.stage, p.replica), 0) + 1
    members = max(counts.values(), default=1)
    blocks = [
        (block, -(-(len(stages) * -(-members // block) * replicas) // _MOST_CELLS) or 1) for block in (1, members)
    ]
    member_block, column_block = blocks[0] if blocks[0][1] <= 1 else blocks[1]
    columns = -(-replicas // column_block)
    low = len(stages) * -(-members // member_block) <= _LOW
    return _Shape(replicas, stages, members, column_block, member_block, _WRAP if low else max(columns, 1))


def _cells(placed: Sequence[Position], shape: _Shape) -> dict[tuple[int, int, int], list[int]]:
    """(stage's place, row in it, column) -> indices of the endpoints in that cell."""
    stage_at = {stage: n for n, stage in enumerate(shape.names)}
    filled: dict[tuple[int | None, int], int] = {}
    cells: dict[tuple[int, int, int], list[int]] = {}
    for n, p in enumerate(placed):
        member = filled.get((p.stage, p.replica), 0)
        filled[p.stage, p.replica] = member + 1
        where = stage_at[p.stage], member // shape.member_block, p.replica // shape.column_block
        cells.setdefault(where, []).append(n)
    return cells


def _headings(drawing: Drawing, shape: _Shape, line: int, top: float, width: float, height: float) -> None:
    first, last = line * shape.wrap, min((line + 1) * shape.wrap, shape.columns)
    every = max(round(40 / width), 1)
    for column in range(first, last, every):
        number = column * shape.column_block + 1
        drawing.add("text", str(number), x=_LEFT + (column - first + 0.5) * width, y=top + 14, css="tick middle")
    drawing.add("text", "replica", x=_LEFT - 8, y=top + 14, css="tick end")
    for at, stage in enumerate(shape.names):
        words = "all" if stage is None and shape.stages == 1 else "no stage" if stage is None else f"stage {stage}"
        middle = top + _TOP + at * (shape.rows * height + 5) + shape.rows * height / 2
        drawing.add("text", words, x=_LEFT - 8, y=middle + 4, css="stage end")


def _cell(
    drawing: Drawing,
    box: tuple[float, float, float, float],
    indices: Sequence[int],
    placed: Sequence[Position],
    parts: Floats,
    show: Callable[[int], str],
    suspects: Collection[str],
    names: Names,
) -> None:
    px, py, width, height = box
    known = [n for n in indices if np.isfinite(parts[n])]
    worst = max(known, key=lambda n: float(parts[n])) if known else indices[0]
    hit = [n for n in indices if placed[n].address in suspects]
    told = hit[0] if hit else worst
    hint = f"{names.full(placed[told].address)}: {show(told)}"
    hint += f"; the worst of {len(indices)} endpoints" if len(indices) > 1 and not hit else ""
    css = f"place-cell h{_level(float(parts[worst]))}" if known else "place-cell unknown"
    drawing.add("rect", title=hint, x=px, y=py, width=width, height=height, css=css)
    if hit:
        frame = "place-cell suspect-mark"
        drawing.add("rect", title=hint, x=px + 1.5, y=py + 1.5, width=width - 3, height=height - 3, css=frame)
    if width >= _NAMED_PX and len(indices) == 1:
        name = names.short(placed[told].address)
        strong = " strong" if known and _level(float(parts[worst])) >= 3 else ""
        drawing.add("text", name, x=px + width / 2, y=py + height / 2 + 4, css=f"cell-name middle{strong}")


def _level(part: float) -> int:
    return int(np.searchsorted(_STEPS, part, "right"))
