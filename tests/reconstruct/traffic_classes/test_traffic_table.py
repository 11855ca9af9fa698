"""Bytes by endpoint, minute and class."""

import numpy as np

from datamodel.durations import MINUTE_NS
from datamodel.reconstructed.traffic import SERVING, STORAGE
from reconstruct.traffic_classes.traffic_table import tabulate_traffic
from tests.reconstruct.traffic_classes.hand_made import streams


def test_a_record_beyond_a_minute_gives_each_its_share() -> None:
    """From 50 s to 80 s: a third before the full minute, the rest after it, no byte lost."""
    table = tabulate_traffic([(streams([(0, 1, 7, [(50, 80, 3001)])]), np.array([SERVING]))])
    columns = (table[n].tolist() for n in ("endpoint", "minute_ns", "sent_bytes", "received_bytes"))
    rows = {(end, minute // MINUTE_NS): (sent, received) for end, minute, sent, received in zip(*columns, strict=True)}
    assert rows == {(0, 0): (1000, 0), (0, 1): (2001, 0), (1, 0): (0, 1000), (1, 1): (0, 2001)}


def test_classes_of_an_endpoint_stay_apart_and_parts_add_up() -> None:
    """Two streams of one class are one row, another class is another."""
    first = streams([(0, 1, 7, [(1, 2, 10), (3, 4, 20)]), (0, 1, 8, [(1, 2, 5)])])
    second = streams([(0, 2, 9, [(1, 1, 100)])])
    table = tabulate_traffic([(first, np.array([SERVING, SERVING])), (second, np.array([STORAGE]))])
    sent = table.take(table["sent_bytes"] > 0)
    assert sent["traffic_class"].tolist() == [SERVING, STORAGE]
    assert sent["sent_bytes"].tolist() == [35, 100]


def test_nothing_gives_an_empty_table() -> None:
    """A window without a stream."""
    empty = streams([(0, 1, 7, [(1, 2, 10)])]).take(np.zeros(0, np.int64))
    assert len(tabulate_traffic([(empty, np.zeros(0, np.int64))])) == 0
