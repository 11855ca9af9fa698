"""The shortest span with 80 % of what is sent: against all spans that can be it, and however records are cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.patterns.busiest_span import MOST_SHARE, busiest_spans

Rows = list[tuple[int, int, int]]  # begin, length, amount
ROWS = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 100), st.integers(1, 1000)), min_size=1, max_size=12)


def found(rows: Rows, pieces: int = 1) -> tuple[float, float]:
    """Mean and spread of one cell whose rows are cut into equal pieces."""
    begin, length, amount = (np.repeat(np.array(column) * 1000, pieces) for column in zip(*rows, strict=True))
    start = begin + np.tile(np.arange(pieces), len(rows)) * (length // pieces)
    spans = busiest_spans(np.zeros(len(start), np.int64), start, start + length // pieces, amount // pieces)
    return float(spans.rate[0]), float(spans.spread[0])


def test_a_short_burst_is_its_rate() -> None:
    """90 % in a tenth of the time, over a trickle that adds to it; what comes before and after does not count."""
    rate, spread = found([(10, 10, 90), (0, 100, 10)])
    assert rate == pytest.approx(9.1)
    assert spread == pytest.approx(0, abs=1e-6)


def test_two_rates_have_a_spread() -> None:
    """22 of 30: ten at 5, twelve at 2.5."""
    rate, spread = found([(0, 10, 50), (10, 20, 50)])
    assert rate == pytest.approx(80 / 22)
    assert spread == pytest.approx(np.sqrt((10 * 25 + 12 * 6.25) / 22 - (80 / 22) ** 2))


def test_pauses_do_not_count() -> None:
    """Messages of a pipeline, far apart, at the link's rate."""
    assert found([(n * 50, 1, 25) for n in range(5)]) == pytest.approx((25.0, 0.0), abs=1e-6)


@given(ROWS)
def test_no_span_is_shorter(rows: Rows) -> None:
    """Stepping through the time in which something is under way finds none."""
    shown = np.zeros(401)
    for begin, length, amount in rows:
        shown[begin : begin + length] += amount / length
    sent = np.append(0.0, np.cumsum(shown[shown > 0]))
    enough = [
        end - begin for begin in range(len(sent)) for end in range(begin, len(sent))
        if sent[end] - sent[begin] >= MOST_SHARE * sent[-1] - 1e-9
    ]  # fmt: skip
    lasting = MOST_SHARE * sent[-1] / found(rows)[0]
    assert min(enough) - 2 <= lasting <= min(enough) + 1e-6


@given(ROWS, st.sampled_from([2, 5, 100]))
def test_cutting_records_changes_nothing(rows: Rows, pieces: int) -> None:
    """Up to a hundred times the records."""
    assert found(rows, pieces) == pytest.approx(found(rows), rel=1e-5, abs=1e-3)


@given(st.lists(ROWS, min_size=2, max_size=5))
def test_cells_do_not_depend_on_each_other(cells: list[Rows]) -> None:
    """All at once as each by itself."""
    rows = np.array([(n, *row) for n, some in enumerate(cells) for row in some])
    spans = busiest_spans(rows[:, 0], rows[:, 1] * 1000, (rows[:, 1] + rows[:, 2]) * 1000, rows[:, 3] * 1000)
    apart = [found(some) for some in cells]
    assert spans.rate.tolist() == pytest.approx([rate for rate, _ in apart], rel=1e-6)
    assert spans.spread.tolist() == pytest.approx([spread for _, spread in apart], rel=1e-4, abs=1e-3)


def test_nothing_sent_is_no_cell() -> None:
    """An empty table."""
    none = np.zeros(0, np.int64)
    assert len(busiest_spans(none, none, none, none).cell) == 0
