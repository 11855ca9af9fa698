"""Streams that keep a job's beat in time: for a part of its life, or about the edges of its iterations."""

import numpy as np

from datamodel.reconstructed.streams import Int, Streams
from reconstruct.jobs.time_aligned_streams import align_for_life, align_in_time
from tests.reconstruct.traffic_classes.hand_made import SECOND, streams

EDGES_NS = np.arange(1, 21, dtype=np.int64) * SECOND


def sends(begins_s: Int) -> Streams:
    """One stream whose messages last for a fiftieth of an iteration."""
    return streams([(0, 1, 5, [(float(at), float(at) + 0.02, 1000) for at in begins_s])])


def test_a_connection_that_was_replaced_keeps_the_beat_for_its_life() -> None:
    """It begins with the twelfth iteration: two messages in each from there on."""
    made = sends(np.sort(np.concatenate([np.arange(11.2, 20), np.arange(11.6, 20)])))
    assert not align_in_time(made, [0], EDGES_NS)
    (own,) = align_for_life(made, np.array([0]), EDGES_NS)
    assert own.iteration.tolist() == np.repeat(np.arange(11, 20), 2).tolist()


def test_what_is_sent_about_the_edge_is_counted_from_the_longest_pause() -> None:
    """The last of three messages comes behind the edge in every other iteration: two and four would be in them."""
    late = np.where(np.arange(20) % 2, 1.03, 0.97)
    begins = np.sort(np.concatenate([np.arange(20) + 0.7, np.arange(20) + 0.85, np.arange(20) + late]))
    (own,) = align_in_time(sends(begins), [0], EDGES_NS)
    assert own.iteration.tolist() == np.repeat(np.arange(20), 3).tolist()
    assert own.slot.tolist() == [0, 1, 2] * 20
