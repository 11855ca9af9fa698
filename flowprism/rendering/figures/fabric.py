"""The fabric as a drawing: spines above, leaves below them, under each leaf what is plugged into it.

Large fabrics are drawn in blocks of leaves that follow one another by name, and each link between a block and a spine
shows the largest load and the largest suspicion of the cables it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from datamodel.service.api_models import FabricLink, FabricView
from flowprism.rendering.figures.svg import Drawing
from flowprism.rendering.units import plural, scaled, share

MOST_COLUMNS = 40
MOST_LINES = 128
_WIDTH, _SIDE_PX = 1080, 14
_SPINES, _LEAVES, _BOX, _SQUARES = 24, 250, 26, 24
_GRID_LEFT, _GRID_TOP, _GRID_ROW = 118, 8, 14
_SQUARE, _GAP, _MOST_DEEP, _MOST_ACROSS = 9, 2, 8, 16
_SUSPECT = 0.05  # less is not drawn as suspicion
LOADS = (0.1, 0.3, 0.6, 0.85)  # where a link's colour changes, as a share of its speed


@dataclass(slots=True)
class DrawnLink:
    """What is drawn between two places: the worst of the cables it stands for."""

    links: list[FabricLink] = field(default_factory=list)

    @property
    def load_ratio(self) -> float | None:
        """The largest known load."""
        return max((link.load_ratio for link in self.links if link.load_ratio is not None), default=None)

    @property
    def suspicion(self) -> float:
        """The largest."""
        return max((link.suspicion for link in self.links), default=0.0)


@dataclass(frozen=True, slots=True)
class Marks:
    """Nodes that are marked: those a pair's packets may come by, and those under suspicion."""

    path: frozenset[str]
    suspects: frozenset[str]

    def css(self, names: Iterable[str]) -> str:
        """Classes of what stands for some nodes."""
        members = set(names)
        on_path = "" if members.isdisjoint(self.path) else " on-path"
        return on_path + ("" if members.isdisjoint(self.suspects) else " suspect")


@dataclass(frozen=True, slots=True)
class Tiers:
    """Where everything stands.

    Attributes:
        spines: switches that nothing but switches is plugged into, one or a block of them each.
        columns: leaves, one or a block of them each.
        column_of: leaf -> column.
        trunks: (place among the spines, column) -> cables between them.
        access: endpoint's address -> its cables.
    """

    spines: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[str, ...], ...]
    column_of: Mapping[str, int]
    trunks: Mapping[tuple[int, int], DrawnLink]
    access: Mapping[str, DrawnLink]


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key to sort names by in which leaf2 comes before leaf10."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part)


def tiers(view: FabricView) -> Tiers:
    """Assign tiers: by role where it is given, else leaves are the switches that endpoints are plugged into."""
    endpoints = {n.id for n in view.nodes if n.role == "endpoint"}
    switches = {n.id: n.role for n in view.nodes if n.role in {"leaf", "spine", "switch"}}
    holds = {link.a for link in view.links if link.b in endpoints} | {
        link.b for link in view.links if link.a in endpoints
    }
    spines, row_of = _blocks(s for s, role in switches.items() if role != "leaf" and s not in holds)
    columns, column_of = _blocks(s for s, role in switches.items() if role == "leaf" or s in holds)
    trunks: dict[tuple[int, int], DrawnLink] = {}
    access: dict[str, DrawnLink] = {}
    for link in view.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            column = column_of.get(other)
            if column is not None and end in row_of:
                trunks.setdefault((row_of[end], column), DrawnLink()).links.append(link)
            elif column is not None and end in endpoints:
                access.setdefault(end, DrawnLink()).links.append(link)
    return Tiers(spines, columns, column_of, trunks, access)


def _blocks(names: Iterable[str]) -> tuple[tuple[tuple[str, ...], ...], dict[str, int]]:
    """Names in their natural order, by blocks where there are too many, and the block of each."""
    ordered = sorted(names, key=natural)
    size = max(-(-len(ordered) // MOST_COLUMNS), 1)
    blocks = tuple(tuple(ordered[n : n + size]) for n in range(0, len(ordered), size))
    return blocks, {name: n for n, block in enumerate(blocks) for name in block}


def draw_fabric(view: FabricView, path: Collection[str] = (), suspects: Collection[str] = ()) -> str:
    """The figure: cables by load, suspect ones marked, and the nodes of a pair's `path` with the cables between them.

    Switches and endpoints among `suspects` are marked too, whatever their cables are like.

    Few cables between switches are lines; many are a grid, a row for each spine, because lines would hide one another.
    """
    return draw_tiers(tiers(view), path, suspects)


def draw_tiers(placed: Tiers, path: Collection[str] = (), suspects: Collection[str] = ()) -> str:
    """Draw the figure of `draw_fabric` with known tiers."""
    label = f"Fabric of {plural(sum(map(len, placed.spines)), 'spine')} and {sum(map(len, placed.columns))} leaves"
    as_lines = len(placed.trunks) <= MOST_LINES
    leaves = _LEAVES if as_lines else _GRID_TOP + len(placed.spines) * _GRID_ROW + 24
    left = _SIDE_PX if as_lines else _GRID_LEFT
    below = _below(placed)
    across = _across(_slot(left, len(placed.columns)))
    deep = min(max(-(-len(own) // across) for own in [*below, ()]), _MOST_DEEP)
    height = leaves + _SQUARES + deep * (_SQUARE + _GAP) + 12
    drawing = Drawing(_WIDTH, height, label, "wide fabric")
    marks = Marks(frozenset(path), frozenset(suspects))
    (_lines if as_lines else _grid)(drawing, placed, marks)
    for n, (column, own) in enumerate(zip(placed.columns, below, strict=True)):
        slot = _slot(left, len(placed.columns))
        x = left + (n + 0.5) * slot
        _box(drawing, column, x, leaves, slot, marks)
        _squares(drawing, own, x, leaves + _SQUARES, across, marks)
    return drawing.markup()


def _slot(left: float, many: int) -> float:
    return (_WIDTH - left - _SIDE_PX) / max(many, 1)


def _across(slot: float) -> int:
    """How many squares stand side by side under a leaf."""
    return min(max(int((slot - 4) // (_SQUARE + _GAP)), 1), _MOST_ACROSS)


def _below(placed: Tiers) -> list[list[tuple[str, DrawnLink]]]:
    """The endpoints of each column, as the inventory orders them."""
    own: list[list[tuple[str, DrawnLink]]] = [[] for _ in placed.columns]
    for address, cable in placed.access.items():
        columns = {placed.column_of[e] for link in cable.links for e in (link.a, link.b) if e in placed.column_of}
        for column in columns:
            own[column].append((address, cable))
    return own


def _ranked(placed: Tiers, path: Collection[str]) -> list[tuple[int, int, DrawnLink, str]]:
    """Cables between switches with their classes: those that matter most come last, so that none lies over them."""
    found = []
    for (row, column), cable in placed.trunks.items():
        on_path = not (set(placed.spines[row]).isdisjoint(path) or set(placed.columns[column]).isdisjoint(path))
        css = _css(cable) + (" on-path" if on_path else "")
        found.append(((cable.suspicion >= _SUSPECT, on_path, cable.load_ratio or 0.0, -row, -column), css, cable))
    return [(-rank[3], -rank[4], cable, css) for rank, css, cable in sorted(found, key=lambda f: f[0])]


def _lines(drawing: Drawing, placed: Tiers, marks: Marks) -> None:
    rows, columns = (_slot(_SIDE_PX, len(names)) for names in (placed.spines, placed.columns))
    for row, column, cable, css in _ranked(placed, marks.path):
        x1, x2 = _SIDE_PX + (row + 0.5) * rows, _SIDE_PX + (column + 0.5) * columns
        top, bottom = _SPINES + _BOX / 2, _LEAVES - _BOX / 2
        drawing.add("line", title=describe(cable), css=f"link {css}", x1=x1, y1=top, x2=x2, y2=bottom)
    for row, names in enumerate(placed.spines):
        _box(drawing, names, _SIDE_PX + (row + 0.5) * rows, _SPINES, rows, marks)


def _grid(drawing: Drawing, placed: Tiers, marks: Marks) -> None:
    slot = _slot(_GRID_LEFT, len(placed.columns))
    for row, names in enumerate(placed.spines):
        text = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        css = f"tick end{marks.css(names)}"
        drawing.add("text", text, x=_GRID_LEFT - 8, y=_GRID_TOP + row * _GRID_ROW + 9.5, css=css)
    for row, column, cable, css in _ranked(placed, marks.path):
        drawing.add(
            "rect", title=describe(cable), x=_GRID_LEFT + column * slot + 1.5, y=_GRID_TOP + row * _GRID_ROW,
            width=slot - 3, height=_GRID_ROW - 2, rx=2, css=f"port {css}",
        )  # fmt: skip


def _css(cable: DrawnLink) -> str:
    return "suspect" if cable.suspicion >= _SUSPECT else load_css(cable.load_ratio)


def load_css(load_ratio: float | None) -> str:
    """The class of a link's colour."""
    return "load-unknown" if load_ratio is None else f"load-{sum(load_ratio >= bound for bound in LOADS)}"


def describe(cable: DrawnLink) -> str:
    """Cables in words: the worst of them where there are several."""
    worst = max(cable.links, key=lambda link: (link.suspicion, link.load_ratio or 0.0))
    text = f"{worst.a} – {worst.b}"
    text += "" if worst.speed_bps is None else f", {scaled(worst.speed_bps, 'bit/s')}"
    text += ", load unknown" if worst.load_ratio is None else f", load at most {share(worst.load_ratio)}"
    text += f", suspected with {share(worst.suspicion)}" if worst.suspicion >= _SUSPECT else ""
    return text if len(cable.links) == 1 else f"{text}; the worst of {len(cable.links)} cables"


def _box(drawing: Drawing, names: Sequence[str], x: float, y: float, slot: float, marks: Marks) -> None:
    """A switch, or several that share a column; named where there is room."""
    width = min(max(slot - 6, 4), 132)
    text = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
    css = f"switch{marks.css(names)}"
    drawing.add("rect", title=text, x=x - width / 2, y=y - _BOX / 2, width=width, height=_BOX, rx=5, css=css)
    if width >= 7 * len(text) + 6:
        drawing.add("text", text, x=x, y=y + 4, css="middle")
    elif width >= 6 * len(short := _short(names)):
        drawing.add("text", short, x=x, y=y + 4, css="middle small")


def _short(names: Sequence[str]) -> str:
    """The numbers in a name stand for it where there is no room; of several names those at their common beginning."""
    numbers = [re.findall(r"\d+", name) for name in names]
    shared = [first[0] for first in zip(*numbers, strict=False) if len(set(first)) == 1]
    return ".".join(shared) or names[0][:3]


def _squares(
    drawing: Drawing, own: Sequence[tuple[str, DrawnLink]], x: float, top: float, across: int, marks: Marks
) -> None:
    """One square an endpoint; where there is no room for all, each stands for several and shows the worst of them."""
    each = -(-len(own) // (across * _MOST_DEEP)) or 1
    shown = [own[n : n + each] for n in range(0, len(own), each)]
    width = min(len(shown), across) * (_SQUARE + _GAP) - _GAP
    for n, part in enumerate(shown):
        cable = DrawnLink([link for _, one in part for link in one.links])
        names = part[0][0] if len(part) == 1 else f"{part[0][0]} … {part[-1][0]}"
        marked = marks.css(address for address, _ in part)
        drawing.add(
            "rect", title=f"{names}: {describe(cable)}", x=x - width / 2 + n % across * (_SQUARE + _GAP),
            y=top + n // across * (_SQUARE + _GAP), width=_SQUARE, height=_SQUARE, rx=2,
            css=f"port {_css(cable)}{marked}",
        )  # fmt: skip
