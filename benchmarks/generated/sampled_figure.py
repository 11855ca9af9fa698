"""The curve of docs/sampled.md: error of iteration times against the sampling rate, drawn from that page's own table.

    python -m benchmarks.generated.sampled_figure docs/sampled.md docs/images/sampled-sweep.svg

The table is what `flowprism evaluate --family sampled` showed; the image cannot say anything else.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from flowprism.rendering.figures.svg import Drawing, Scale, polyline

_ROW = re.compile(r"^\| ([\d,]+) \| ([\d.]+) % \| ([\d.]+) % \|", re.MULTILINE)
# Up to which rate which error is asked for, %.
ASKED = ((1_000, 4_096, 0.3), (4_096, 40_000, 1.0))
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640.0, 300.0, 64.0, 150.0, 16.0, 44.0
_ERRORS = (0.01, 0.03, 0.1, 0.3, 1.0)
# Both backgrounds a page may have: mid tones on either, text by the reader's preference.
_CSS = """
text{font:12px sans-serif;fill:#333}.grid{stroke:#8886;fill:none}.asked{stroke:#c33;stroke-dasharray:5 4;fill:none}
.seen{stroke:#2a7fd4;stroke-width:2;fill:none}.dot{fill:#2a7fd4}.told{stroke:#d18a00;stroke-width:2;fill:none}
.ring{fill:#d18a00}@media(prefers-color-scheme:dark){text{fill:#ddd}.asked{stroke:#f77}}
"""


@dataclass(frozen=True, slots=True)
class RateErrors:
    """One sampling rate: 1 in `rate`; mean seen and predicted error of iteration times, %."""

    rate: int
    seen: float
    told: float


def rows(page: str) -> list[RateErrors]:
    """The rows of the sweep's table."""
    return [RateErrors(int(rate.replace(",", "")), float(seen), float(told)) for rate, seen, told in _ROW.findall(page)]


def figure(table: list[RateErrors]) -> str:
    """The image as it stands in a file of its own."""
    across = Scale(math.log10(table[0].rate), math.log10(table[-1].rate), _LEFT, _WIDTH - _RIGHT)
    up = Scale(math.log10(_ERRORS[0] / 2), math.log10(_ERRORS[-1] * 1.5), _HEIGHT - _BOTTOM, _TOP)
    drawing = Drawing(_WIDTH, _HEIGHT, "Error of iteration times against the sampling rate")
    drawing.add("style", _CSS)
    for error in _ERRORS:
        y = up(math.log10(error))
        drawing.add("path", css="grid", d=polyline([(_LEFT, y), (_WIDTH - _RIGHT, y)]))
        drawing.add("text", f"{error:g} %", x=_LEFT - 6, y=y + 4, text_anchor="end")
    for row in table:
        drawing.add("text", f"1:{row.rate:,}", x=across(math.log10(row.rate)), y=_HEIGHT - 22, text_anchor="middle")
    for first, last, most in ASKED:
        ends = [(across(math.log10(rate)), up(math.log10(most))) for rate in (first, last)]
        drawing.add("path", css="asked", d=polyline(ends))
    drawing.add("text", "asked", x=across(math.log10(ASKED[-1][1])) + 6, y=up(math.log10(ASKED[-1][2])) + 4)
    for css, mark, name, shift in (("seen", "dot", "seen", 4), ("told", "ring", "predicted", -8)):
        points = [(across(math.log10(r.rate)), up(math.log10(r.seen if css == "seen" else r.told))) for r in table]
        drawing.add("path", css=css, d=polyline(points))
        for x, y in points:
            drawing.add("circle", css=mark, cx=x, cy=y, r=3.0)
        drawing.add("text", name, x=points[-1][0] + 10, y=points[-1][1] + shift)
    return drawing.markup().replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(figure(rows(Path(sys.argv[1]).read_text())))
