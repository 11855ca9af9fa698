"""What the window before showed of a job that goes on, as evidence for this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from datamodel.reports.layout import Layout, Sizes
from strategy.options import LayoutOptions
from strategy.posterior import SIZE_NAMES, Candidate, FullSizes, merge_sizes


def pool_with_former(candidates: Sequence[Candidate], former: Layout, options: LayoutOptions) -> list[Candidate]:
    """Candidates with the posterior of both windows, the likeliest first; probabilities sum to one.

    A job sends the same in every window, so that a second one repeats most of the first one's evidence. Posteriors are
    therefore not multiplied but pooled in logarithms, each with half the weight (Genest and Zidek, 1986, section 3):
    windows that agree leave what they say as it is. A former layout that is not whole says nothing of this window.

    Args:
        candidates: of this window.
        former: the answer to the window before, itself pooled with those before it.
        options: constants of the model.
    """
    answer = _full(former)
    if None in answer:
        return list(candidates)
    now = merge_sizes(candidates)
    then = {answer: former.confidence} | {_full(one.sizes): one.probability for one in former.alternatives}
    least = options.layout_changes
    times = {sizes: float(np.sqrt(max(then.get(sizes, 0.0), least) / p)) if p > 0 else 0.0 for sizes, p in now.items()}
    pooled = [replace(one, probability=one.probability * times[one.sizes]) for one in candidates]
    total = sum(one.probability for one in pooled)
    return sorted((replace(one, probability=one.probability / total) for one in pooled), key=lambda c: -c.probability)


def _full(sizes: Sizes) -> FullSizes:
    return tuple(getattr(sizes, name) for name in SIZE_NAMES)
