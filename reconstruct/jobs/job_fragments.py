"""Streams with a rhythm -> parts of jobs: those that share an endpoint and turn over at one pace."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.jobs.common_window import (
    FEWEST_SHARED,
    compute_common_cycle_time,
    compute_cycle_time_within,
    count_cycles_during,
    cycles_within,
)
from reconstruct.jobs.microbatch_count import PairedStreams, count_microbatches, pair_streams
from reconstruct.numeric.ragged_arrays import by_label
from reconstruct.parallel import parallel_map
from reconstruct.periods.byte_period import OFTEN, StreamPeriods, pauses_ns
from reconstruct.periods.cycles import CycleTable, cut_cycles, joined
from reconstruct.periods.folding import RECURRENCE

# The iteration is a whole multiple of the cycles of this share of a job's streams.
ON_BEAT = 0.9
# A beat that is not everybody's is that of this share of them.
MOST_STREAMS = 0.5
# Cycles this close are one candidate for the iteration.
SAME_CYCLE = 0.001
# So many cycles of streams that came back a few times are tried as beats, each this share longer than the one before.
# A beat holds a whole number of cycles, but for this share of one.
MOST_RARE_CYCLES, SAME_RARE_CYCLE, WHOLE_CYCLES = 8, 0.02, 0.3
# A rank receives at least this share of what it sends, and the other way round.
LEAST_BALANCE = 0.1
# The first iteration, which warms up, takes up to so many times as long as the others.
SLOW_FIRST = 2.0
# Who gives or takes less than this share of the other is looked at first: what it exchanges is no part of a balance.
ONE_WAY = 0.01


class _Seen(NamedTuple):
    """What kernels know of streams with a rhythm: (n,) each, and their rows.

    Attributes:
        stream: number.
        watch_start_ns, watch_end_ns: since when and until when it could be seen.
        start_ns, end_ns: first and last byte.
        cycles: how many it holds.
        cycle_ns: time of a cycle.
        quantum_bytes: of a cycle.
        offsets: (streams + 1,) row bounds of all streams.
        row_start_ns, row_bytes: (rows,).
    """

    stream: Int
    watch_start_ns: Int
    watch_end_ns: Int
    start_ns: Int
    end_ns: Int
    cycles: Float
    cycle_ns: Float
    quantum_bytes: Float
    offsets: Int
    row_start_ns: Int
    row_bytes: Int


def connected(streams: Streams, rhythmic: CycleTable) -> list[CycleTable]:
    """Join streams that share an endpoint, live at the same time and whose cycles fit into one another.

    An exporter that was heard later than the others, or fell silent, shows less of a stream's life, and at another
    pace: what counts is the time in which both streams could be seen.
    """
    ends = np.concatenate([streams.src[rhythmic.stream], streams.dst[rhythmic.stream]])
    number = np.tile(np.arange(len(rhythmic)), 2)
    order = np.argsort(ends, kind="stable")
    bounds = np.flatnonzero(np.diff(ends[order], prepend=-1, append=-1))
    root = np.arange(len(rhythmic))
    _unite(number[order], bounds, _seen(streams, rhythmic), root)
    return [rhythmic.take(numbers) for numbers in by_label(root)]


def _seen(streams: Streams, rhythmic: CycleTable) -> _Seen:
    return _Seen(
        stream=rhythmic.stream,
        watch_start_ns=streams.watch_start_ns[rhythmic.stream],
        watch_end_ns=streams.watch_end_ns[rhythmic.stream],
        start_ns=rhythmic.start_ns,
        end_ns=rhythmic.end_ns,
        cycles=rhythmic.count,
        cycle_ns=rhythmic.cycle_ns,
        quantum_bytes=rhythmic.quantum_bytes,
        offsets=streams.offsets,
        row_start_ns=to_contiguous(streams.start_ns),
        row_bytes=to_contiguous(streams.bytes),
    )


@compiled
def _unite(number: Int, bounds: Int, seen: _Seen, root: Int) -> None:
    """Write into `root` the smallest member of each stream's set.

    Args:
        number: stream of each entry; entries of one endpoint side by side.
        bounds: where each endpoint's entries begin, and the end.
        seen: the streams.
        root: (n,) every stream's own number at first.
    """
    for e in range(len(bounds) - 1):
        for i in range(bounds[e], bounds[e + 1]):
            a = number[i]
            for j in range(i + 1, bounds[e + 1]):
                b = number[j]
                if find_root(root, a) != find_root(root, b) and _belong(seen, a, b):
                    union(root, a, b)
    flatten_roots(root)


@compiled
def _belong(seen: _Seen, a: int, b: int) -> bool:
    """Whether two streams live together for more than half of what was seen of either, at one pace.

    Where the first iterations are slow, mean cycles of streams that end an iteration differ from those of streams
    inside it. If both live equally long, their numbers of cycles are compared instead.
    """
    since = max(seen.watch_start_ns[a], seen.watch_start_ns[b])
    until = min(seen.watch_end_ns[a], seen.watch_end_ns[b])
    begin_ns, end_ns = max(seen.start_ns[a], seen.start_ns[b]), min(seen.end_ns[a], seen.end_ns[b])
    life = min(seen.end_ns[a] - seen.start_ns[a], seen.end_ns[b] - seen.start_ns[b])
    for s in (a, b):
        life = max(life, min(seen.end_ns[s], until) - max(seen.start_ns[s], since))
    if end_ns - begin_ns <= 0.5 * life:
        return False
    first, second, fewest = seen.cycle_ns[a], seen.cycle_ns[b], min(seen.cycles[a], seen.cycles[b])
    if seen.watch_start_ns[a] != seen.watch_start_ns[b] or seen.watch_end_ns[a] != seen.watch_end_ns[b]:
        met = _cycles(seen, a, begin_ns, end_ns), _cycles(seen, b, begin_ns, end_ns)
        if min(met) >= FEWEST_SHARED:
            first, second, fewest = (end_ns - begin_ns) / met[0], (end_ns - begin_ns) / met[1], min(met)
    if multiple(max(first, second) / min(first, second), fewest) > 0:
        return True
    apart_ns = max(abs(seen.start_ns[a] - seen.start_ns[b]), abs(seen.end_ns[a] - seen.end_ns[b]))
    ratio = max(seen.cycles[a], seen.cycles[b]) / min(seen.cycles[a], seen.cycles[b])
    return apart_ns <= SLOW_FIRST * max(first, second) and multiple(ratio, fewest) > 0


@compiled
def _cycles(seen: _Seen, n: int, begin_ns: int, end_ns: int) -> float:
    rows = seen.offsets, seen.row_start_ns, seen.row_bytes
    return cycles_within(seen.stream[n], seen.quantum_bytes[n], *rows, begin_ns, end_ns)


@compiled
def find_root(root: Int, n: int) -> int:
    """The smallest member of the set that `n` is in, paths halved."""
    while root[n] != n:
        root[n] = root[root[n]]
        n = root[n]
    return n


@compiled
def union(root: Int, a: int, b: int) -> None:
    """Make one set of those of two members."""
    here, there = find_root(root, a), find_root(root, b)
    root[max(here, there)] = min(here, there)


@compiled
def flatten_roots(root: Int) -> None:
    """Write for each the smallest member of its set, once all are united."""
    for n in range(len(root)):
        root[n] = find_root(root, n)


@compiled
def multiple(ratio: float, fewest_cycles: float) -> int:
    """The whole number that a ratio of cycle lengths stands for; 0 when it is none.

    Few cycles average little out, hence the tolerance of one cycle in all of them.
    """
    times = max(np.rint(ratio), 1.0)
    tolerance = min(0.02 + 1.0 / max(fewest_cycles, 1.0), 0.4 / times)
    return int(times) if abs(ratio / times - 1) < tolerance else 0


@compiled
def _multiples(beat_ns: float, cycle_ns: Float, fewest_cycles: float) -> Int:
    times = np.zeros(len(cycle_ns), np.int64)
    for k in range(len(times)):
        times[k] = multiple(beat_ns / cycle_ns[k], fewest_cycles)
    return times


def align_to_iteration(streams: Streams, parts: Sequence[CycleTable], data: Int) -> list[CycleTable]:
    """Fold every stream at its part's iteration: the shortest cycle that nearly all of the part's cycles divide.

    Args:
        streams: data rows by connection.
        parts: streams with a rhythm that share endpoints.
        data: (n,) all streams that may belong to jobs.
    """
    if not parts:
        return []
    wishes = parallel_map(partial(_off_beat, streams, pair_streams(streams, data)), parts)
    wanted, owner = np.concatenate([w.stream for w in wishes]), _numbers([len(w.stream) for w in wishes])
    once = _each_once(parts, wanted, owner)
    beats = StreamPeriods(*(np.concatenate(column)[once] for column in zip(*(w.beats for w in wishes), strict=True)))
    wanted, owner = wanted[once], owner[once]
    found = cut_cycles(streams, wanted, beats)  # those of all parts at a time, so that the cores share them
    owner = owner[np.isin(wanted, found.stream)]
    bounds = np.searchsorted(owner, np.arange(len(parts) + 1)).tolist()
    aligned = [
        joined([part.take(wish.kept), found.take(np.arange(*own))]) if len(wish.kept) < len(part) else part
        for part, wish, own in zip(parts, wishes, pairwise(bounds), strict=True)
    ]
    return [part for part in aligned if len(part)]


def _each_once(parts: Sequence[CycleTable], wanted: Int, owner: Int) -> Bool:
    """(n,) which wishes are granted: not for answers that another part has or wished for before.

    Args:
        parts: no two have a stream in common.
        wanted: (n,) streams to be cut again.
        owner: (n,) the part that wishes for each, ascending.
    """
    held = np.concatenate([part.stream for part in parts])
    home = np.full(int(max(held.max(initial=-1), wanted.max(initial=-1))) + 1, -1)
    home[held] = _numbers([len(part) for part in parts])
    first = np.zeros(len(wanted), np.bool_)
    first[np.unique(wanted, return_index=True)[1]] = True
    return np.asarray((home[wanted] == owner) | (home[wanted] < 0) & first)


def _numbers(lengths: list[int]) -> Int:
    """The number of each part, as often as it has entries."""
    return np.repeat(np.arange(len(lengths)), lengths)


class _Wish(NamedTuple):
    """What is to become of a part: places of streams that stay as they are, streams to be cut again, and by what."""

    kept: Int
    stream: Int
    beats: StreamPeriods


def _off_beat(streams: Streams, paired: PairedStreams, part: CycleTable) -> _Wish:
    """The streams of a part that do not turn over once an iteration; those that fit none at all are left out."""
    cycle_ns, beat_ns, fewest, stalled = _beat(streams, part)
    batches = count_microbatches(streams, paired, part, part.beat_bytes * beat_ns / cycle_ns)
    if len(batches.stream):
        unit = batches.quantum_bytes / batches.times
        beats = StreamPeriods(batches.quantum_bytes, unit, np.ones(len(unit)))
        return _Wish(np.zeros(0, np.int64), batches.stream, beats)
    beat_ns *= batches.times
    times = _multiples(beat_ns, cycle_ns, fewest)
    messages = np.rint(beat_ns / cycle_ns * part.beat_bytes / part.unit_bytes)
    quantum = np.where(stalled, 0.0, np.where(times > 0, times * part.beat_bytes, messages * part.unit_bytes))
    other = np.flatnonzero((times != 1) & (quantum > 0))
    beats = StreamPeriods(quantum[other], part.unit_bytes[other], np.ones(len(other)))
    return _Wish(np.flatnonzero(times == 1), part.stream[other], beats)


def _beat(streams: Streams, part: CycleTable) -> tuple[Float, float, float, Bool]:
    """(n,) time of a cycle, that of a beat, the fewest cycles of a stream; and (n,) which a stall makes seem longer."""
    if len(part) < 2:
        return part.cycle_ns, float(part.cycle_ns[0]), float(part.count[0]), np.zeros(len(part), np.bool_)
    cycle_ns, fewest = compute_common_cycle_time(streams, part)
    rare_ns, share = _beat_ns(cycle_ns, fewest)
    if share < ON_BEAT:  # see `_belong`: the first iterations may be slow, which only some streams were there to see
        common = compute_cycle_time_within(streams, part, int(part.start_ns.max()), int(part.end_ns.min()))
        again_ns, more = _beat_ns(*common) if common is not None else (rare_ns, share)
        if common is not None and more >= ON_BEAT:
            (cycle_ns, fewest), rare_ns, share = common, again_ns, more
    if share < ON_BEAT and (whole := _whole_beat(streams, part)) is not None:
        cycle_ns, rare_ns, fewest = whole
    beat_ns = _without_stalls(streams, part, cycle_ns, rare_ns)
    return cycle_ns, beat_ns, fewest, (part.count < OFTEN) & (beat_ns < rare_ns)


def _whole_beat(streams: Streams, part: CycleTable) -> tuple[Float, float, float] | None:
    """(n,) time of a cycle, that of a beat, and how many were counted; None where no stream shows one.

    A beat is the shortest cycle of those that come back a few times during which nearly all others do whole times.
    """
    rare = np.flatnonzero(part.count < OFTEN)
    order = rare[np.lexsort([part.stream[rare], part.cycle_ns[rare]])]
    apart = np.diff(part.cycle_ns[order], prepend=0.0) > SAME_RARE_CYCLE * part.cycle_ns[order]
    for n in order[apart][:MOST_RARE_CYCLES].tolist():
        cycles, whole = count_cycles_during(streams, part, n)
        times = np.rint(cycles)
        if whole >= FEWEST_SHARED and np.mean((times > 0) & (np.abs(cycles - times) <= WHOLE_CYCLES)) >= ON_BEAT:
            beat_ns = float(part.cycle_ns[n])
            return beat_ns / np.maximum(cycles, WHOLE_CYCLES), beat_ns, float(whole)
    return None


def _beat_ns(cycle_ns: Float, fewest: float) -> tuple[float, float]:
    """Find the shortest cycle that is a whole multiple of nearly all cycles, else of most; and the share of these."""
    best, widest, tried = 0.0, -1.0, 0.0
    for candidate in np.sort(cycle_ns).tolist():
        if candidate < tried * (1 + SAME_CYCLE):
            continue
        tried = candidate
        share = float(np.mean(_multiples(candidate, cycle_ns, fewest) > 0))
        if share >= ON_BEAT:
            return float(candidate), share
        if share > widest:
            best, widest = float(candidate), share
    return best, widest


def _without_stalls(streams: Streams, part: CycleTable, cycle_ns: Float, beat_ns: float) -> float:
    """Instead of a beat that came back a few times only, that of most streams if the others send in each period of it.

    An evaluation sends further messages one way, and such streams come back with it. Gradients that are few beside the
    messages of many micro-batches are silent during most of these: then the rare beat is the iteration.
    """
    often = part.count >= OFTEN
    rare = not often[np.argmin(np.abs(cycle_ns - beat_ns))]
    if not rare or often.mean() < MOST_STREAMS:
        return beat_ns
    shorter_ns, _ = _beat_ns(cycle_ns[often], float(part.count[often].min()))
    typical = part.stream[np.argmin(np.abs(cycle_ns - shorter_ns))]
    busy_ns = min(_busy_ns(streams, n, shorter_ns) for n in part.stream[~often].tolist())
    return shorter_ns if busy_ns >= ON_BEAT * _busy_ns(streams, int(typical), shorter_ns) else beat_ns


def without_hubs(
    streams: Streams, part: CycleTable, data: Bool, ranks: frozenset[int] = frozenset()
) -> list[CycleTable]:
    """What is connected of a part once endpoints that give without taking, or take without giving, have left it.

    In every collective a rank sends about as much as it receives; a data loader sends, a checkpoint store receives, and
    so does who is given new weights. These leave first: a rank that feeds them is balanced without them. Weights may be
    a hundred times what a stage exchanges: who gives or takes nothing leaves first, then who takes, then who gives.
    What goes on all the time counts, with a rhythm or without: a single stream of a ring that has none, behind a slow
    link, would leave two ranks that seem to do but one of the two, and once they are gone their neighbours. Where most
    bytes have no rhythm, what a few streams repeat is chance and makes no job of the rest.

    Args:
        streams: data rows by connection.
        part: streams with a rhythm.
        data: (n,) all streams that may belong to jobs.
        ranks: address codes that never leave: where switches export nothing, one direction shows nothing of the other.
    """
    rest, given, volume = part, np.zeros(0, np.int64), streams.total_bytes()
    while len(rest):
        number = np.union1d(rest.stream, given)
        name, local = np.unique([streams.src[number], streams.dst[number]], return_inverse=True)
        src, dst = local.reshape(2, -1)
        total = volume[number]
        sent, received = np.bincount(src, total, len(name)), np.bincount(dst, total, len(name))
        less, more = np.minimum(sent, received), np.maximum(sent, received)
        lopsided = less < LEAST_BALANCE * more
        if ranks:
            lopsided &= ~np.isin(name, list(ranks))
        if not lopsided.any():
            break
        if rest is part and not len(given):
            beside = _going_on(streams, part, data, name[lopsided])
            if len(beside) and volume[beside].sum() <= volume[part.stream].sum():
                given = beside
                continue
        one_way = lopsided & (less < ONE_WAY * more)
        sorts = (one_way & (less == 0), one_way & (sent < received), one_way)
        gone = name[next((some for some in sorts if some.any()), lopsided)]
        given = given[~_touching(streams, given, gone)]
        rest = rest.take(np.flatnonzero(~_touching(streams, rest.stream, gone)))
    return [part] if rest is part else connected(streams, rest)


def _touching(streams: Streams, numbers: Int, ends: Int) -> Bool:
    """(n,) which of some streams begin or end at some endpoints."""
    return np.asarray(np.isin(streams.src[numbers], ends) | np.isin(streams.dst[numbers], ends))


def _going_on(streams: Streams, part: CycleTable, data: Bool, ends: Int) -> Int:
    """Streams of data at some endpoints, none of the part, that seldom pause for longer than a cycle while it lives."""
    beside = data.copy()
    beside[part.stream] = False
    some = np.flatnonzero(beside)
    some = some[_touching(streams, some, ends)]
    cycle_ns, since, until = part.cycle_ns.max(), part.start_ns.min(), part.end_ns.max()
    busy_ns = np.array([_busy_ns(streams, n, cycle_ns) for n in some.tolist()])
    return some[busy_ns >= RECURRENCE * (until - since)] if len(some) else some


def _busy_ns(streams: Streams, stream: int, cycle_ns: float) -> float:
    """For how long a stream sends, pauses of at most a cycle included."""
    rows = streams.rows(stream)
    pause = pauses_ns(streams.start_ns[rows], streams.end_ns[rows])
    life = int(streams.end_ns[rows].max() - streams.start_ns[rows][0])
    return float(life - np.maximum(pause - cycle_ns, 0).sum())
