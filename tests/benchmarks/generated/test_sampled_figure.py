"""The figure and the table of docs/sampled.md, held to one another and to what is asked."""

from __future__ import annotations

from pathlib import Path

from benchmarks.generated.sampled_figure import ASKED, figure, rows

DOCS = Path(__file__).parents[3] / "docs"


def test_the_figure_is_the_table() -> None:
    """Drawn anew from the page's table it is the image beside it, byte by byte."""
    table = rows((DOCS / "sampled.md").read_text())
    assert [row.rate for row in table] == sorted(row.rate for row in table)
    assert (DOCS / "images" / "sampled-sweep.svg").read_text() == figure(table)


def test_the_measured_errors_are_those_asked_for() -> None:
    """0.3 % up to 1 in 4,096, 1 % up to 1 in 40,000."""
    for row in rows((DOCS / "sampled.md").read_text()):
        most = min((limit for _, last, limit in ASKED if row.rate <= last), default=None)
        assert most is None or row.seen <= most
