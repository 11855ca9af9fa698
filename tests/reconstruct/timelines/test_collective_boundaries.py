"""Where collectives of a job part, and how rows are cut there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.reconstructed.streams import Bool, Int
from reconstruct.timelines.collective_boundaries import cut_at_places, find_collective_boundaries
from reconstruct.timelines.job_rows import JobRows

MS = 1_000_000
ROWS = 20  # an iteration: 20 rows of 1 MB, 5 ms each


def rows(pauses_ms: dict[int, float], streams: int = 6, iterations: int = 8, length_ms: float = 5.0) -> JobRows:
    """Streams that pause before these rows of each iteration, and 400 ms before each iteration."""
    start, pause = [], []
    length = round(length_ms * MS)
    for _ in range(streams):
        now = 0
        for i in range(iterations):
            for r in range(ROWS):
                usual = 400.0 if r == 0 and i else pauses_ms.get(r, 0.01)
                gap = round(usual * MS) if r or i else 0
                start.append(now + gap)
                pause.append(gap)
                now = start[-1] + length
    begin = np.array(start, np.int64)
    count = iterations * ROWS
    return JobRows(
        streams=np.arange(streams),
        offsets=np.arange(streams + 1) * count,
        rows=np.arange(len(start)),
        start_ns=begin,
        end_ns=begin + length,
        bytes=np.full(len(start), 1_000_000),
        pause_ns=np.array(pause, np.int64),
        iteration=np.tile(np.repeat(np.arange(iterations), ROWS), streams),
        period_ns=600.0 * MS,
    )


def places(seen: JobRows) -> list[float]:
    """Where the streams' collectives part."""
    floor = seen.floor_ns(np.zeros(len(seen.streams), np.bool_))
    return [round(float(p), 3) for p in find_collective_boundaries(seen, np.arange(len(seen.streams)), floor)]


def test_steps_of_one_collective_do_not_part_it() -> None:
    """Pauses of a tenth of a step are inside; so are those of a few steps, beside 400 ms between iterations."""
    assert places(rows({})) == []
    assert places(rows(dict.fromkeys(range(1, ROWS), 0.5))) == []


def test_two_buckets_part_where_all_pause() -> None:
    """100 ms before the eleventh row: half of the bytes."""
    assert places(rows({10: 100.0})) == [0.5]


def test_buckets_close_together_part_by_their_own_measure() -> None:
    """16 ms part buckets whose rows take 0.1 ms, and are a step between rows of 5 ms: no absolute time decides."""
    assert places(rows({5: 16.0, 10: 16.0, 15: 16.0}, length_ms=0.1)) == [0.25, 0.5, 0.75]
    assert places(rows({5: 16.0, 10: 16.0, 15: 16.0})) == []


def test_a_place_of_a_few_streams_is_not_shared() -> None:
    """One of six pauses somewhere else: it waited for somebody."""
    seen = rows({10: 100.0})
    late = seen.pause_ns.copy()
    late[np.arange(8) * ROWS + 4] = 90 * MS
    assert places(replace(seen, pause_ns=late)) == [0.5]


def cut(seen: JobRows, shares: list[float], usual: float = ROWS * 1e6, last: int = 8) -> tuple[Bool, Int]:
    """Where operations begin, and their numbers, with all streams of one kind."""
    first, slot = np.zeros(len(seen.rows), np.bool_), np.zeros(len(seen.rows), np.int64)
    streams = len(seen.streams)
    cut_at_places(
        seen.offsets,
        seen.bytes,
        seen.pause_ns,
        seen.iteration,
        np.zeros(streams, np.int64),
        np.full(streams, usual),
        np.array([0, len(shares)]),
        np.array(shares),
        last,
        first,
        slot,
    )
    return first, slot


def test_iterations_are_cut_at_the_places() -> None:
    """Two operations an iteration: rows 0 and 10, numbered 0 and 1."""
    first, slot = cut(rows({10: 100.0}), [0.5])
    low = np.flatnonzero(first)
    assert (low % ROWS).tolist() == [0, 10] * 48
    assert slot[low].tolist() == [0, 1] * 48


def test_the_longest_pause_near_a_place_decides() -> None:
    """The bytes say the tenth row, the pause the eleventh: within 0.6 % of the bytes there is no other row."""
    first, _ = cut(rows({10: 100.0}), [0.503])
    assert np.flatnonzero(first)[:2].tolist() == [0, 10]


def test_an_unfinished_iteration_is_measured_by_the_usual_bytes() -> None:
    """12 of 20 rows were sent after the last edge: the second operation has begun. A third place was not reached."""
    seen = part(rows({10: 100.0}, streams=1, iterations=3), slice(0, 52))
    first, slot = cut(seen, [0.5, 0.9], last=2)
    low = np.flatnonzero(first)
    assert low.tolist() == [0, 10, 18, 20, 30, 38, 40, 50]
    assert slot[low].tolist() == [0, 1, 2, 0, 1, 2, 0, 1]


def test_an_iteration_that_had_begun_is_measured_from_its_end() -> None:
    """Of the first iteration 8 rows were seen, all behind the place: they are the second operation."""
    seen = part(rows({10: 100.0}, streams=1, iterations=3), slice(12, 60))
    first, slot = cut(seen, [0.5], last=3)
    low = np.flatnonzero(first)
    assert low.tolist() == [0, 8, 18, 28, 38]
    assert slot[low].tolist() == [1, 0, 1, 0, 1]


def part(seen: JobRows, chosen: slice) -> JobRows:
    """Some rows of the one stream."""
    names = ("rows", "start_ns", "end_ns", "bytes", "pause_ns", "iteration")
    columns = {name: getattr(seen, name)[chosen] for name in names}
    return replace(seen, offsets=np.array([0, len(columns["rows"])]), **columns)


def test_what_lies_inside_a_transfer_is_by_rows_or_by_time() -> None:
    """Three lengths of a row; between packet trains 0.3 % of an iteration, if that is more."""
    seen = rows({}, streams=2)
    assert seen.floor_ns(np.array([False, True])).tolist() == [pytest.approx(15 * MS), pytest.approx(15 * MS)]
    short = replace(seen, end_ns=seen.start_ns + 1000)
    assert short.floor_ns(np.array([False, True])).tolist() == [pytest.approx(3_000), pytest.approx(1.8 * MS)]
