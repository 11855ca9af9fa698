"""What the window before showed counts as much as this one, and no more the oftener it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest

from datamodel.reports.layout import Alternative, Layout, Sizes
from strategy.candidates.labelings import Labeling
from strategy.former_layout import pool_with_former
from strategy.options import LayoutOptions
from strategy.posterior import NO_SIZES, SIZE_NAMES, Candidate, FullSizes, merge_sizes

OPTIONS = LayoutOptions()
TENSOR: FullSizes = (8, 1, 1, 2, 4)
REPLICAS: FullSizes = (4, 1, 1, 4, 4)


def named(sizes: FullSizes) -> Sizes:
    """Sizes by their names."""
    return Sizes(**dict(zip(SIZE_NAMES, sizes, strict=True)))


def layout(posterior: Mapping[FullSizes, float]) -> Layout:
    """The answer to a window with this posterior, all of whose sizes are decided."""
    best = max(posterior, key=lambda sizes: posterior[sizes])
    others = tuple(Alternative(sizes=named(sizes), probability=p) for sizes, p in posterior.items())
    return Layout(**named(best).model_dump(), confidence=posterior[best], alternatives=others)


def pooled(now: Mapping[FullSizes, float], former: Layout) -> dict[FullSizes, float]:
    """The posterior of both windows."""
    candidates = [Candidate(cast("Labeling", None), None, None, sizes, p) for sizes, p in now.items()]
    return merge_sizes(pool_with_former(candidates, former, OPTIONS))


def test_a_window_that_leaves_sizes_open_is_decided_by_the_one_before() -> None:
    """Three to two in this window, and decided in the one before it."""
    found = pooled({TENSOR: 0.6, REPLICAS: 0.4}, layout({TENSOR: 0.97, REPLICAS: 0.03}))
    assert found[TENSOR] > OPTIONS.decisive
    assert sum(found.values()) == pytest.approx(1.0)


def test_windows_that_agree_say_no_more_than_one() -> None:
    """A job sends the same in each, so that the tenth repeats the first."""
    now = {TENSOR: 0.9, REPLICAS: 0.1}
    found = dict(now)
    for _ in range(10):
        found = pooled(now, layout(found))
    assert found == pytest.approx(now)


def test_a_new_layout_is_answered_at_once_where_the_window_is_sure_of_it() -> None:
    """A job that is started with other sizes on the same hosts."""
    found = pooled({REPLICAS: 0.999, TENSOR: 0.0002, NO_SIZES: 0.0008}, layout({TENSOR: 1.0}))
    assert found[REPLICAS] > OPTIONS.decisive


def test_a_layout_that_is_not_whole_says_nothing_of_the_next_window() -> None:
    """What a window could not show is no evidence."""
    now = {TENSOR: 0.9, NO_SIZES: 0.1}
    assert pooled(now, Layout(pp=4, confidence=0.99)) == now
    assert pooled(now, Layout()) == now
