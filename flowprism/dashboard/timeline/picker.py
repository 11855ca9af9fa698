"""A strip of iterations to choose from: one bar each, whose height is its duration and which links to it."""

from __future__ import annotations

from html import escape

from datamodel.service.api_models import IterationPoint
from flowprism.dashboard.timeline.timeline_query import Choice
from flowprism.rendering.figures.svg import number
from flowprism.rendering.units import duration

_WIDTH, _HEIGHT, _BASE = 1080, 64, 60
_WIDEST = 26.0


def draw_picker(choice: Choice, here: str) -> str:
    """The strip as SVG. The Tab key skips its links, because the form next to it does the same for keyboards.

    Args:
        choice: the iterations, and those that are shown.
        here: the page's path.
    """
    if not choice.points:
        return ""
    slot = min(_WIDTH / len(choice.points), _WIDEST)
    longest = max(point.longest_s for point in choice.points)
    shown = set(choice.shown)
    bars = "".join(
        _bar(point, n * slot, slot, longest, here, "bar shown" if point in shown else _other(choice, point))
        for n, point in enumerate(choice.points)
    )
    label = f"{len(choice.points)} iterations to choose from"
    width = number(slot * len(choice.points))
    size = f'viewBox="0 0 {width} {_HEIGHT}" width="{width}" height="{_HEIGHT}" preserveAspectRatio="none"'
    return f'<svg {size} class="picker" role="group" aria-label="{label}">{bars}</svg>'


def _other(choice: Choice, point: IterationPoint) -> str:
    return "bar other" if point == choice.other else "bar"


def _bar(point: IterationPoint, x: float, slot: float, longest: float, here: str, css: str) -> str:
    height = max(point.longest_s / longest * (_BASE - 4), 1.0)
    many = point.last > point.first
    name = f"iterations {point.first} to {point.last}" if many else f"iteration {point.first}"
    title = escape(f"{name}: {duration(point.longest_s)}")
    # the whole column answers to the pointer, not only the bar
    return (
        f'<a href="{escape(here)}?first={point.first}" tabindex="-1"><title>{title}</title>'
        f'<rect x="{number(x)}" y="0" width="{number(slot)}" height="{_HEIGHT}" class="column"/>'
        f'<rect x="{number(x + slot * 0.12)}" y="{number(_BASE - height)}" width="{number(slot * 0.76)}" '
        f'height="{number(height)}" rx="1" class="{css}"/></a>'
    )
