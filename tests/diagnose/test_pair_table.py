"""The table of pairs: what each sends, at which rate, and how late beside the others."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.pair_table import pair_table
from tests.diagnose.hand_made import MS, Op, edges_ns, fabric, job_view, operations

SIZE = 1_000_000


def test_rates_are_medians_over_streams_and_iterations() -> None:
    """Two connections of a pair count together; one that never takes time has no rate, and no lateness."""
    edges = edges_ns([1.0, 1.0, 1.0])
    lasted_ms = {(0, 1, 1): (2, 4, 8), (0, 1, 2): (5, 10, 20), (1, 0, 3): (1, 1, 1), (2, 0, 4): (0, 0, 0)}
    ops = [
        Op(a, b, int(edges[n]), int(edges[n]) + each * MS, iteration=n, stream=stream, bytes=SIZE)
        for (a, b, stream), lengths in lasted_ms.items()
        for n, each in enumerate(lengths)
    ]
    table = pair_table(job_view(operations(ops), edges, fabric(3)))
    assert list(zip(table["src"].tolist(), table["dst"].tolist(), strict=True)) == [(0, 1), (1, 0), (2, 0)]
    assert table["bytes"].tolist() == [6 * SIZE, 3 * SIZE, 3 * SIZE]
    both = np.median([SIZE * 8e9 / (each * MS) for each in (2, 4, 8, 5, 10, 20)])
    assert table["rate_bps"][:2].tolist() == pytest.approx([both, 8e9])
    assert table["late_ratio"][:2].tolist() == pytest.approx([(both + 8e9) / 2 / both, (both + 8e9) / 2 / 8e9])
    assert np.isnan(table["rate_bps"][2])
    assert np.isnan(table["late_ratio"][2])
