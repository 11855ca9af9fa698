"""The matrix by one measure: blocks keep what stands out, margins name the rows that do."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.service.scan_history import PAIR_PROFILES
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.figures.heatmap import MEASURES, describe, draw_heat, heat, hot
from flowprism.rendering.names import Names

DP, PP = 1, 2


def pairs(*rows: tuple[int, int, int, int, float, float]) -> Frame:
    """Rows of (src, dst, role, bytes, rate, lateness)."""
    src, dst, role, moved, rate, late = zip(*rows, strict=True) if rows else ((),) * 6
    zeros = np.zeros(len(rows), np.int64)
    columns = {"job": zeros, "src": src, "dst": dst, "role": role, "start_ns": zeros, "end_ns": zeros}
    columns |= {"bytes": moved, "transfers": zeros + 1, "rate_bps": rate, "late_ratio": late}
    return Frame(
        PAIR_PROFILES, {c.name: np.array(columns[c.name], c.dtype) for c in PAIR_PROFILES.columns if c.required}
    )


def ring(size: int, slow: int = -1) -> Frame:
    """A gradient ring of so many endpoints, one of whose senders is four times as slow and late."""
    return pairs(
        *((n, (n + 1) % size, DP, 1000, 100.0 if n == slow else 400.0, 4.0 if n == slow else 1.0) for n in range(size))
    )


def order(size: int) -> list[Position]:
    """So many endpoints of one stage."""
    return [Position(f"10.0.{n >> 8}.{n & 255}", n + 1, 0, n) for n in range(size)]


def addresses(size: int) -> tuple[str, ...]:
    """Their addresses, by code."""
    return tuple(p.address for p in order(size))


def test_a_block_shows_what_stands_out_in_it() -> None:
    """Of 960 endpoints in blocks of ten, the one slow pair decides its block, which says so."""
    for measure in ("rate", "delay"):
        shown = heat(ring(960, slow=501), addresses(960), order(960), measure)
        assert shown.block == 10
        worst = int(np.nanargmax(shown.heat))
        assert (shown.src[worst], shown.dst[worst], shown.heat[worst]) == (50, 50, 4.0)
        assert shown.many[worst] == 9
        assert describe(shown, worst, Names()).startswith("10.0.1.245 → 10.0.1.246: dp 1.00 kB in 1 transfer")
        assert "(9 pairs here, 9.00 kB in all)" in describe(shown, worst, Names())


def test_hot_rows_and_columns_are_found() -> None:
    """The slow sender's row and its receiver's column, and no others."""
    shown = heat(ring(16, slow=5), addresses(16), order(16), "delay")
    assert hot(shown.rows) == [5]
    assert hot(shown.columns) == [6]
    assert draw_heat(shown, (), Names()).count('class="margin hit"') == 2


def test_volume_adds_up_by_row() -> None:
    """An endpoint that sends ten times as much stands out; the margin is the sum of its pairs."""
    more = pairs(*((n, (n + 1) % 8, DP, 1000, 1.0, 1.0) for n in range(8)), (3, 6, PP, 9000, 1.0, 1.0))
    shown = heat(more, addresses(8), order(8), "volume")
    assert shown.rows[3] == 10_000
    assert hot(shown.rows) == [3]


def test_rates_are_compared_with_their_like() -> None:
    """Pipeline messages that are slower than gradients by nature are not slow."""
    rows = [(n, (n + 1) % 8, DP, 1000, 400.0, 1.0) for n in range(8)]
    rows += [(n, (n + 4) % 8, PP, 1000, 50.0, 1.0) for n in range(8)]
    shown = heat(pairs(*rows), addresses(8), order(8), "rate")
    assert set(shown.heat.tolist()) == {1.0}


def test_unknown_is_not_slow() -> None:
    """Rates and delays that nobody measured leave their cells faint and their margins empty."""
    unknown = pairs(*((n, (n + 1) % 4, DP, 10, float("nan"), float("nan")) for n in range(4)))
    for measure in MEASURES:
        shown = heat(unknown, addresses(4), order(4), measure)
        assert draw_heat(shown, (), Names()).count('class="cell') == 4
        assert measure == "volume" or np.isnan(shown.rows).all()
        assert hot(shown.rows) == []


def test_pairs_with_strangers_are_left_out() -> None:
    """A part of the job: only pairs within it."""
    shown = heat(ring(16), addresses(16), order(16)[:4], "volume")
    assert len(shown.src) == 3


def test_no_pairs_is_an_empty_matrix() -> None:
    """It is drawn without a cell."""
    assert 'class="cell' not in draw_heat(heat(pairs(), (), order(3), "volume"), (), Names())
