"""Steps of a served model are told from iterations by their length and their messages."""

import numpy as np

from reconstruct.jobs.model_steps import serves_model
from tests.reconstruct.traffic_classes.hand_made import SECOND, streams

NONE = np.zeros(0, np.int64)


def turning(period_s: float, *sizes: list[int], followers: int = 0) -> bool:
    """Whether streams that turn over so, a message each, serve a model; the last ones have no rhythm of their own."""
    made = [
        (0, 1 + to, 5, [(n * period_s, n * period_s + 0.001, size) for n, size in enumerate(own)])
        for to, own in enumerate(sizes)
    ]
    edges = np.rint(np.arange(len(sizes[0])) * period_s * SECOND).astype(np.int64)
    members, following = np.split(np.arange(len(sizes)), [len(sizes) - followers])
    return serves_model(streams(made), members, following, edges)


def test_length_and_sizes_decide() -> None:
    """Above 250 ms never; below it where sizes are ever others; below 50 ms also where all streams carry as much."""
    same, others = [1000] * 40, list(range(1000, 1040))
    assert turning(0.02, same)
    assert turning(0.02, same, same)
    assert not turning(0.02, same, [5000] * 40)
    assert turning(0.1, others)
    assert not turning(0.1, same)
    assert not turning(0.3, others)


def test_messages_of_a_pipeline_next_to_gradients_are_those_of_no_served_model() -> None:
    """Tokens next to activations are."""
    assert not turning(0.02, [10**9] * 40, list(range(10**7, 10**7 + 40)), followers=1)
    assert turning(0.02, [10**9] * 40, list(range(10**5, 10**5 + 40)), followers=1)


def answering(delay_s: float, extra: int, missing: int = 0, pace: float = 1.0, each: int = 1) -> bool:
    """Whether a pair that sends each of twenty sizes twice, and as much back so much later, serves a model.

    The last `missing` messages are not answered; all times are multiplied by `pace`; `each` are an iteration.
    """
    sizes = [1000 + n % 20 for n in range(40)]
    ways = [(0, 1, 0.0, 0, 0), (1, 0, delay_s, extra, missing)]
    made = [
        (a, b, 5, [
            ((n * 0.1 + late) * pace, (n * 0.1 + late + 0.01) * pace, size + more)
            for n, size in enumerate(sizes[: len(sizes) - less])
        ])
        for a, b, late, more, less in ways
    ]  # fmt: skip
    return serves_model(
        streams(made), np.arange(2), NONE, np.rint(np.arange(0, 40, each) * 0.1 * pace * SECOND).astype(np.int64)
    )


def test_gradients_come_back_in_the_size_of_activations() -> None:
    """Later they are a pipeline that trains on sequences of any length, also beside activations of the next batch.

    At once, or of other sizes, they are not; nor one message each faster than any iteration. A hang leaves some
    unanswered.
    """
    assert not answering(0.05, 0, missing=6)
    assert answering(0.05, 0, pace=0.1)
    assert not answering(0.05, 0, pace=0.1, each=4)
    assert not answering(0.05, 0)
    assert not answering(0.105, 0)
    assert answering(0.001, 0)
    assert answering(0.05, 7)
