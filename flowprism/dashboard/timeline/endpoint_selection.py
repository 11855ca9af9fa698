"""Selects the endpoints to draw of a job that has too many: suspects, the latest, and an even selection."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import Floats


def chosen(
    placed: Sequence[Position], late_s: Floats, suspects: Collection[str], spans_each: Floats, most_spans: int
) -> list[Position]:
    """The endpoints to draw, in the order given, with at most about `most_spans` spans in all.

    Suspects come first. The latest of the remaining endpoints and an even selection over the whole job alternate after
    them, so that the figure shows both deviating and typical endpoints.

    Args:
        placed: all endpoints of the job.
        late_s: lateness of each, shape (endpoints,); nan where unknown.
        suspects: addresses that must be shown.
        spans_each: number of spans of each endpoint, shape (endpoints,).
        most_spans: how many there is room for.
    """
    if spans_each.sum() <= most_spans:
        return list(placed)
    order = _by_interest(placed, late_s, suspects)
    fits = max(int(np.searchsorted(np.cumsum(spans_each[order]), most_spans, "right")), 1)
    return [placed[n] for n in sorted(order[:fits])]


def _by_interest(placed: Sequence[Position], late_s: Floats, suspects: Collection[str]) -> list[int]:
    suspected = [n for n, p in enumerate(placed) if p.address in suspects]
    latest = np.argsort(-np.nan_to_num(late_s, nan=-np.inf), kind="stable").tolist()
    turns = [n for pair in zip(latest, _evenly(len(placed)), strict=True) for n in pair]
    return list(dict.fromkeys([*suspected, *turns]))


def _evenly(size: int) -> list[int]:
    """All places so ordered that the first few lie evenly over the whole: by bits, the lowest counting most."""
    bits = max(size - 1, 1).bit_length()
    mirrored = (int(f"{n:0{bits}b}"[::-1], 2) for n in range(1 << bits))
    return [n for n in mirrored if n < size]
