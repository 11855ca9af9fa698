"""Steps of a served model are told from iterations by their length and their messages."""

import numpy as np

from reconstruct.jobs.model_steps import serves_model
from tests.reconstruct.traffic_classes.hand_made import SECOND, streams


def turning(period_s: float, sizes: list[int]) -> bool:
    """Whether a stream that turns over so, a message each, serves a model."""
    rows = [(n * period_s, n * period_s + 0.001, size) for n, size in enumerate(sizes)]
    edges = np.rint(np.arange(len(sizes)) * period_s * SECOND).astype(np.int64)
    return serves_model(streams([(0, 1, 5, rows)]), np.array([0]), edges)


def test_length_and_sizes_decide() -> None:
    """Below 50 ms always, above 250 ms never, between them where sizes are ever others."""
    same, others = [1000] * 40, list(range(1000, 1040))
    assert turning(0.02, same)
    assert turning(0.1, others)
    assert not turning(0.1, same)
    assert not turning(0.3, others)
