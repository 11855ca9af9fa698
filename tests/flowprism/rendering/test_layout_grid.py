"""What the grid of a layout draws: every endpoint's cell, the worst of those that share one, suspects always."""

from __future__ import annotations

import re

import numpy as np
import pytest

from datamodel.reports.layout import Groups
from flowprism.rendering.endpoint_order import EndpointOrder, placed
from flowprism.rendering.figures.layout_grid import block_of, draw_layout
from flowprism.rendering.names import Names


def _many(stages: int, replicas: int) -> EndpointOrder:
    chains = tuple(tuple(f"10.{stage}.{r >> 8}.{r & 255}" for stage in range(stages)) for r in range(replicas))
    return placed(tuple(address for chain in chains for address in chain), Groups(pp=chains))


def _levels(markup: str) -> list[str]:
    return re.findall(r'class="place-cell (h\d|unknown)"', markup)


@pytest.mark.parametrize(
    ("part", "level"), [(-0.3, "h0"), (0.019, "h0"), (0.02, "h1"), (0.06, "h2"), (0.2, "h3"), (0.5, "h4")]
)
def test_cells_are_coloured_by_how_much_more_they_take(part: float, level: str) -> None:
    """Levels begin at 2, 5, 15 and 50 percent of an iteration."""
    everyone = _many(1, 3)
    markup = draw_layout(everyone, np.array([0.0, part, np.nan]), str, (), Names())
    assert _levels(markup) == ["h0", level, "unknown"]


def test_endpoints_that_share_a_cell_show_the_worst() -> None:
    """Of a hundred thousand endpoints a single slow one is still seen."""
    everyone = _many(4, 25_000)
    parts = np.zeros(len(everyone))
    parts[12_345] = 0.7
    markup = draw_layout(everyone, parts, str, (), Names())
    levels = _levels(markup)
    assert block_of(everyone) > 1
    assert len(levels) <= 4100
    assert levels.count("h4") == 1
    assert "12345; the worst of" in markup


def test_a_suspect_is_framed_though_it_shares_its_cell() -> None:
    """And its name is what the hint tells."""
    everyone = _many(1, 9000)
    suspect = everyone[4321].address
    markup = draw_layout(everyone, np.zeros(len(everyone)), str, {suspect}, Names())
    framed = re.findall(r'suspect-mark"><title>([^:]+):', markup)
    assert framed == [suspect]
