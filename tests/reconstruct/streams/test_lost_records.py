"""Records that packet numbers show to be lost come back with their bytes, where their likes are."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame, concat
from datamodel.reconstructed.streams import ROW_COLUMNS, Bool, Int, Streams
from datamodel.telemetry.flows import FLOWS, UDP, Flows
from reconstruct.streams.lost_records import find_lost_records, lost_rows
from reconstruct.streams.stream_builder import build_streams, volumes

ADDRESSES = ("10.0.0.1", "10.0.0.2")
# Of an iteration: packets of each message, and milliseconds from one to the next.
PACKETS, APART_MS = (16, 16, 40, 16), (2, 2, 5, 60)
ITERATIONS = 12


def messages(first_number: int = 0, of: tuple[int, ...] = PACKETS) -> Flows:
    """Messages of one queue pair, 1 ms each, that repeat every iteration."""
    packets = np.tile(of, ITERATIONS)
    start_ns = 1_000_000 * np.concatenate([[0], np.cumsum(np.tile(APART_MS, ITERATIONS))[:-1]])
    numbers = (first_number + np.concatenate([[0], np.cumsum(packets)[:-1]])) % (1 << 24)
    n = len(packets)
    return Flows(
        Frame(
            FLOWS,
            {
                "time_flow_start_ns": start_ns,
                "time_flow_end_ns": start_ns + 1_000_000,
                "src_addr": np.zeros(n, np.int32),
                "dst_addr": np.ones(n, np.int32),
                "bytes": 4096 * packets,
                "packets": packets,
                "proto": np.full(n, UDP, np.uint8),
                "dst_qp": np.full(n, 7),
                "psn_first": numbers,
            },
        ),
        ADDRESSES,
    )


def without(feed: Flows, *lost: int) -> Flows:
    """The feed without some rows."""
    return feed.take(np.delete(np.arange(len(feed.frame)), lost))


def rows(found: Streams) -> tuple[Int, Int]:
    """Sizes and starts of the only stream's rows."""
    assert len(found) == 1
    return found.bytes, found.start_ns


@pytest.mark.parametrize("first_number", [0, (1 << 24) - 500])
@pytest.mark.parametrize("lost", [9, 10, 21])
def test_a_lost_record_between_others_comes_back_where_it_was(lost: int, first_number: int) -> None:
    """Its size is that of its likes, its time theirs between their neighbors; numbers may have begun again."""
    feed = messages(first_number)
    size, start_ns = rows(build_streams(without(feed, lost)))
    assert size.tolist() == feed.frame["bytes"].tolist()
    assert abs(start_ns[lost] - feed.frame["time_flow_start_ns"][lost]) < 1_000_000


def test_records_lost_together_come_back_one_by_one() -> None:
    """A gap as large as several records is filled by as many."""
    feed = messages()
    assert rows(build_streams(without(feed, 13, 14)))[0].tolist() == feed.frame["bytes"].tolist()


def test_a_record_lost_beside_a_pause_ends_no_iteration_late() -> None:
    """Where the last message before a pause and the first behind it are alike, what is filled in stands before it."""
    feed = messages(of=(16, 16, 16, 16))
    for lost in (15, 16):
        start_ns = rows(build_streams(without(feed, lost)))[1]
        assert start_ns[lost] <= feed.frame["time_flow_start_ns"][15] + 5_000_000


def test_rows_that_were_filled_in_are_counted() -> None:
    """The report says how many rows it rests on that no exporter sent."""
    assert len(build_streams(messages()).filled_rows) == 0
    assert len(build_streams(without(messages(), 9, 13, 14)).filled_rows) == 3


def test_an_outage_is_not_filled() -> None:
    """What no exporter saw for iterations stays unknown."""
    feed = messages()
    assert len(rows(build_streams(without(feed, *range(8, 24))))[0]) == len(feed.frame) - 16


@pytest.mark.parametrize("column", ["psn_first", "payload_bytes"])
def test_rows_without_numbers_or_of_a_mirror_are_left_alone(column: str) -> None:
    """Without numbers nothing shows a loss; a mirror counts payload byte by byte."""
    feed = messages()
    values = feed.frame["bytes"] if column == "payload_bytes" else np.full(len(feed.frame), -1)
    lossy = without(Flows(feed.frame.replace(**{column: values}), ADDRESSES), 9)
    assert len(rows(build_streams(lossy))[0]) == len(feed.frame) - 1


def test_numbers_that_do_not_go_on_are_not_those_of_a_queue_pair() -> None:
    """Where most records leave a gap, the numbers count more than the queue pair's packets."""
    feed = messages()
    sprayed = Flows(feed.frame.replace(psn_first=2 * feed.frame["psn_first"] % (1 << 24)), ADDRESSES)
    assert len(rows(build_streams(sprayed))[0]) == len(feed.frame)


def test_ready_messages_between_records_are_no_loss() -> None:
    """A message of one packet that says a buffer is ready takes a number, and no record shows it."""
    feed = messages()
    shifted = feed.frame["psn_first"] + np.arange(len(feed.frame))
    assert len(rows(build_streams(Flows(feed.frame.replace(psn_first=shifted), ADDRESSES)))[0]) == len(feed.frame)


def test_order_of_rows_changes_nothing() -> None:
    """The same rows in another order are filled alike."""
    lossy = without(messages(), 9, 21, 30)
    order = np.random.default_rng(3).permutation(len(lossy.frame))
    one, other = rows(build_streams(lossy)), rows(build_streams(lossy.take(order)))
    same: Bool = one[1] == other[1]
    assert same.all()
    assert one[0].tolist() == other[0].tolist()


def queue_pairs(random: np.random.Generator) -> Frame:
    """Records of several queue pairs that take turns in part, that overlap and tie in time, a tenth of them lost."""
    n, turns = 240, int(random.integers(1, 5))
    packets = random.choice([16, 40], n)
    own = np.arange(n) % turns if random.random() < 0.7 else random.integers(0, turns, n)
    start_ns = np.cumsum(random.choice([0, 1, 5], n, p=[0.03, 0.57, 0.4])) * 1_000_000
    numbers = np.zeros(n, np.int64)
    for pair in range(turns):
        mine = own == pair
        numbers[mine] = np.concatenate([[0], np.cumsum(packets[mine])[:-1]])
    columns = {
        "time_flow_start_ns": start_ns,
        "time_flow_end_ns": start_ns + random.choice([0, 1, 12], n) * 1_000_000,
        "time_acknowledged_ns": np.where(random.random(n) < 0.5, start_ns + 20_000_000, 0),
        "src_addr": np.zeros(n, np.int32),
        "dst_addr": np.ones(n, np.int32),
        "sampler_address": own.astype(np.int32) % 2,
        "bytes": 4096 * packets,
        "packets": packets,
        "proto": np.full(n, UDP, np.uint8),
        "dst_qp": 7 + own,
        "psn_first": numbers,
        "ecn_ce_packets": random.integers(0, 3, n),
    }
    return Frame(FLOWS, columns).take(random.permutation(np.flatnonzero(random.random(n) > 0.1)))


@pytest.mark.parametrize("seed", range(20))
def test_streams_are_those_of_a_feed_that_carries_what_is_filled_in(seed: int) -> None:
    """To the last row and column, whatever overlaps, ties or takes turns."""
    frame = queue_pairs(np.random.default_rng(seed))
    keys = [volumes(frame), frame["time_flow_end_ns"], frame["time_flow_start_ns"], frame["dst_qp"]]
    pairs, first = np.unique(np.sort(frame["dst_qp"]), return_index=True)
    lost = find_lost_records(frame, np.lexsort(keys).astype(np.int32), np.append(first, len(frame)), pairs)
    whole = concat(FLOWS, [frame, lost_rows(frame, lost)])
    unnumbered = whole.replace(psn_first=np.full(len(whole), -1))  # nothing is missing in it any more
    found, expected = build_streams(Flows(frame, ADDRESSES)), build_streams(Flows(unnumbered, ADDRESSES))
    assert len(found.filled_rows) == len(lost.like) > 0
    for name in (*ROW_COLUMNS, "src", "dst", "name", "trains", "offsets", "watch_start_ns", "watch_end_ns"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    sent = {(int(a), int(b)) for a, b in zip(lost.start_ns, lost.end_ns, strict=True)}
    rows = found.filled_rows
    assert {(int(a), int(b)) for a, b in zip(found.start_ns[rows], found.end_ns[rows], strict=True)} == sent
