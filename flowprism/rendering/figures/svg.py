"""Writing SVG: elements with escaped attributes, numbers to a tenth of a pixel, axes with round ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

Attribute = str | float | None


class Drawing:
    """Elements of one SVG image, in drawing order.

    The image carries `label` for screen readers. Lengths are in the units of the view box, which are CSS
    pixels at the image's full width.
    """

    def __init__(self, width: float, height: float, label: str, css_class: str = "") -> None:
        self.width = width
        self.height = height
        self._label = label
        self._class = css_class
        self._parts: list[str] = []

    def add(self, name: str, text: str = "", *, title: str = "", **attributes: Attribute) -> None:
        """Append one element; `css` stands for `class`, underscores in names for hyphens, `title` shows on hover."""
        content = f"<title>{escape(title)}</title>" if title else ""
        content += escape(text)
        opened = f"<{name}{_attributes(attributes)}"
        self._parts.append(f"{opened}>{content}</{name}>" if content else f"{opened}/>")

    def markup(self) -> str:
        """The image as it stands in a page, everything in it escaped."""
        box = f"0 0 {number(self.width)} {number(self.height)}"
        css = f"figure {self._class}".strip()
        opened = f'<svg viewBox="{box}" role="img" aria-label="{escape(self._label)}" class="{escape(css)}">'
        return opened + "".join(self._parts) + "</svg>"


def _attributes(attributes: dict[str, Attribute]) -> str:
    text = ""
    for key, value in attributes.items():
        if value is not None:
            name = "class" if key == "css" else key.replace("_", "-")
            text += f' {name}="{escape(value) if isinstance(value, str) else number(value)}"'
    return text


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel, the shortest way."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def polyline(points: Sequence[tuple[float, float]]) -> str:
    """Path data of a line through points."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def round_ticks(low: float, high: float, about: int) -> list[float]:
    """Some `about` round values (1, 2 or 5 times a power of ten apart) that lie in [low, high]."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10 ** math.floor(math.log10(rough))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / rough)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


class Scale:
    """A linear map from values to pixels."""

    def __init__(self, low: float, high: float, start_px: float, end_px: float) -> None:
        self.low = low
        self.high = high if high > low else low + 1
        self._start = start_px
        self._per_unit = (end_px - start_px) / (self.high - self.low)

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        return self._start + (value - self.low) * self._per_unit
