"""Micro-batches of a pipeline without anything beside it: an iteration ends where all that was sent is answered.

A stage sends activations forward and gets as many bytes of gradients back. While a pipeline runs, its next stage holds
at least one micro-batch; it holds none only when it has drained, at the end of an iteration (1F1B: Narayanan et al.,
SC 2021; GPipe: Huang et al., NeurIPS 2019). Two replicas that exchange gradients are even after every message,
whatever pauses they make.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import compiled
from reconstruct.numeric.ragged_arrays import expanded
from reconstruct.periods.cycles import CycleTable

# Pairs of endpoints that exchange data carry this share of a part's bytes at least.
MOST_BYTES = 0.5
# The pairs with most bytes decide: all pairs of a pipeline's stages do the same.
MOST_PAIRS = 8
# Activations and gradients are as many bytes, but for activations of evaluations, which are not answered.
LIKE_BYTES = 2.0
# A message that begins within this share of a cycle behind an answer was sent with it: stages that take equally long
# send at once, either of them first.
TOGETHER_SHARE = 0.4
# Activations and their gradients differ by less than this share of a cycle; a message of a micro-batch is more.
EVEN_SHARE = 0.01
# The bytes of a turn are those of whole cycles, but for this share of one; where its end is not sharp, more.
WHOLE_SHARE, ROUGHLY = 0.1, 0.4
# A pipeline is empty again after equally many cycles in this share of the cases, of so many at least.
REGULAR_SHARE, FEWEST_TURNS = 0.8, 4
# Cycles may be micro-batches where this share of a job's streams look so.
MOST_MEMBERS = 0.9
# How many messages are looked ahead of a moment at which all seems answered: lost ones upset no others.
AHEAD = (512, 128, 32, 8)


class PairedStreams(NamedTuple):
    """Streams of data by their ends, (n,) each.

    Attributes:
        key: source and destination as one number, ascending.
        stream: its number.
        total_bytes: what it carries.
        watched_ns: for how long it could be seen.
    """

    key: Int
    stream: Int
    total_bytes: Int
    watched_ns: Int


def pair_streams(streams: Streams, some: Int) -> PairedStreams:
    """Streams by their ends, to be looked up."""
    key = streams.src[some].astype(np.int64) * len(streams.addresses) + streams.dst[some]
    order = np.argsort(key, kind="stable")
    watched_ns = (streams.watch_end_ns - streams.watch_start_ns)[some[order]]
    return PairedStreams(key[order], some[order], streams.total_bytes()[some[order]], np.maximum(watched_ns, 1))


class Microbatches(NamedTuple):
    """How a part is to be cut into iterations.

    Attributes:
        times: how many of its cycles make one; 1 where nothing shows that there are several.
        stream: (n,) ascending; streams that show the iterations better than those of the part: evaluations lie between
            these, and are not answered. None where empty.
        quantum_bytes: (n,) what each of these sends in an iteration.
    """

    times: int
    stream: Int
    quantum_bytes: Float


def find_answered(streams: Streams) -> Bool:
    """Find streams between whose ends about as many bytes run each way, of all streams there; (n,)."""
    width = len(streams.addresses)
    pairs, pair = np.unique(streams.src.astype(np.int64) * width + streams.dst, return_inverse=True)
    sent = np.append(np.bincount(pair, streams.total_bytes()), 0.0)
    back = pairs % width * width + pairs // width
    place = np.searchsorted(pairs, back)
    place[place == len(pairs)] = 0
    returned = np.where(pairs[place] == back, sent[place], 0.0) if len(pairs) else sent[:-1]
    alike = np.maximum(sent[:-1], returned) < LIKE_BYTES * np.minimum(sent[:-1], returned)
    return np.asarray(alike[pair])


def may_be_microbatches(answered: Bool, members: CycleTable) -> bool:
    """Whether nearly all streams pause once a cycle and are answered: activations by gradients of a micro-batch.

    Args:
        answered: (streams,) see `find_answered`; what answers a stream need not have a period.
        members: streams of a job.
    """
    return bool((answered[members.stream] & (np.diff(members.place_offsets) == 1)).mean() >= MOST_MEMBERS)


def count_microbatches(streams: Streams, paired: PairedStreams, part: CycleTable, cycle_bytes: Float) -> Microbatches:
    """How many cycles of its streams make an iteration of a part.

    Args:
        streams: data rows by connection.
        paired: all streams of data: what answers a stream need not have a rhythm.
        part: streams that share endpoints.
        cycle_bytes: (n,) what each of them sends in a cycle that they share.
    """
    single = Microbatches(1, np.zeros(0, np.int64), np.zeros(0))
    exchange = _exchanging(streams, paired, part, cycle_bytes)
    if exchange is None:
        return single
    reach_ns = TOGETHER_SHARE * float(np.median(part.cycle_ns * cycle_bytes / part.quantum_bytes))
    messages = [_messages(streams, exchange, way, reach_ns) for way in (exchange.own, ~exchange.own)]
    forth, back = (_turns_each(*each) for each in messages)
    votes, often = np.unique(np.maximum(forth, back), return_counts=True)
    times = int(votes[often.argmax()])
    if times <= 1 or 2 * often.max() <= often.sum():
        return single
    answers = np.flatnonzero(~exchange.own)
    bounds, size, *_ = messages[0]
    unanswered = np.diff(np.append(0.0, np.cumsum(size))[bounds])
    has_rhythm = np.isin(exchange.stream[answers], part.stream).any()
    if has_rhythm or np.median(unanswered) < times * np.median(exchange.cycle_bytes):
        return single._replace(times=times)
    answers = answers[np.argsort(exchange.stream[answers], kind="stable")]
    pair, total = exchange.pair[answers], exchange.total_bytes[answers]
    quantum = times * exchange.cycle_bytes[pair] * total / np.bincount(pair, total)[pair]
    return Microbatches(times, exchange.stream[answers], quantum)


class _Exchange(NamedTuple):
    """Streams of some pairs of endpoints.

    Attributes:
        stream, pair: (n,) its number, and that of its pair.
        own: (n,) whether it runs the way whose cycles are counted.
        least_bytes: (n,) smaller rows are no data.
        cycle_bytes: (pairs,) what is sent in a cycle that way.
        total_bytes: (n,) of each stream.
    """

    stream: Int
    pair: Int
    own: Bool
    least_bytes: Float
    cycle_bytes: Float
    total_bytes: Float


def _exchanging(streams: Streams, paired: PairedStreams, part: CycleTable, cycle_bytes: Float) -> _Exchange | None:
    """Pairs of endpoints that send as much each way, one way at least with the rhythm of the part.

    Of two ways that have it, the one from the smaller address is counted.
    """
    width = len(streams.addresses)
    key = streams.src[part.stream].astype(np.int64) * width + streams.dst[part.stream]
    ways, way = np.unique(key, return_inverse=True)
    answers = ways % width * width + ways // width
    first, last = (np.searchsorted(paired.key, answers, side) for side in ("left", "right"))
    which, place = expanded(first, last - first)
    watched_ns = np.maximum(streams.watch_end_ns[part.stream] - streams.watch_start_ns[part.stream], 1)
    sent = np.bincount(way, part.total_bytes / watched_ns)
    returned = np.bincount(which, paired.total_bytes[place] / paired.watched_ns[place], len(ways))
    alike = (returned > 0) & (np.maximum(sent, returned) < LIKE_BYTES * np.minimum(sent, returned))
    if sent[alike].sum() < MOST_BYTES * sent.sum():
        return None
    once = np.flatnonzero(alike & ~(np.isin(answers, ways[alike]) & (ways > answers)))
    chosen = once[np.argsort(-sent[once], kind="stable")[:MOST_PAIRS]]
    number = np.full(len(ways), -1)
    number[chosen] = np.arange(len(chosen))
    forth, back = np.flatnonzero(number[way] >= 0), np.flatnonzero(number[which] >= 0)
    least = np.bincount(way, part.least_bytes) / np.bincount(way)
    return _Exchange(
        stream=np.concatenate([part.stream[forth], paired.stream[place[back]]]),
        pair=np.concatenate([number[way[forth]], number[which[back]]]),
        own=np.repeat([True, False], [len(forth), len(back)]),
        least_bytes=np.concatenate([part.least_bytes[forth], least[which[back]]]),
        cycle_bytes=np.bincount(way, cycle_bytes)[chosen].astype(np.float64),
        total_bytes=np.concatenate([part.total_bytes[forth], paired.total_bytes[place[back]]]),
    )


def _messages(streams: Streams, exchange: _Exchange, forth: Bool, reach_ns: float) -> tuple[Int, Float, Bool, Float]:
    """What each pair exchanges, in order of time.

    Answers count as if they had begun `reach_ns` later. What was sent while the other direction could not be seen is
    left out.

    Returns:
        (pairs + 1,) bounds; (rows,) bytes, negative for answers; (rows,) whether it went the way that is counted;
        (pairs,) bytes of a cycle that way.
    """
    stream, pair = exchange.stream, exchange.pair
    count = len(exchange.cycle_bytes)
    since, until = np.full(count, np.iinfo(np.int64).min), np.full(count, np.iinfo(np.int64).max)
    np.maximum.at(since, pair, streams.watch_start_ns[stream])
    np.minimum.at(until, pair, streams.watch_end_ns[stream])
    which, row = expanded(streams.offsets[stream], streams.offsets[stream + 1] - streams.offsets[stream])
    start_ns, size = streams.start_ns[row], streams.bytes[row]
    seen = size >= exchange.least_bytes[which]
    seen &= (start_ns >= since[pair[which]]) & (start_ns <= until[pair[which]])
    which, start_ns, size = which[seen], start_ns[seen], size[seen].astype(np.float64)
    answer = ~forth[which]
    order = np.lexsort([np.where(answer, start_ns + reach_ns, start_ns), pair[which]])
    bounds = np.searchsorted(pair[which[order]], np.arange(count + 1))
    return bounds, np.where(answer, -size, size)[order], exchange.own[which[order]], exchange.cycle_bytes


@compiled
def _turns_each(bounds: Int, size: Float, own: Bool, cycle_bytes: Float) -> Int:
    """(pairs,) in how many cycles all is answered again; 0 where that is not regular."""
    found = np.zeros(len(cycle_bytes), np.int64)
    for n in range(len(found)):
        rows = slice(bounds[n], bounds[n + 1])
        sent = np.cumsum(np.where(own[rows], np.abs(size[rows]), 0.0)) / cycle_bytes[n]
        until = _less_again(size[rows], EVEN_SHARE * cycle_bytes[n])
        for ahead in AHEAD:
            found[n] = max(found[n], _regular(sent[:-1][until > ahead]))
    return found


@compiled
def _regular(sent: Float) -> int:
    """After how many cycles all is answered again; 0 where that is not regular, or seldom so.

    Evaluations send messages that are not answered between iterations. Where stages take turns with chunks of layers,
    the first micro-batches leave the next stage before others enter it: then iterations end where most was sent since.

    Args:
        sent: how many cycles had been sent whenever all was answered.
    """
    if len(sent) <= FEWEST_TURNS:
        return 0
    turns = np.diff(sent)
    found = _usual(turns, WHOLE_SHARE)
    longest = np.diff(sent[1:][turns > 0.5 * turns.max()])
    if found > 1 or longest.sum() < REGULAR_SHARE * turns.sum():
        return found
    return max(found, _usual(longest, ROUGHLY))


@compiled
def _usual(turns: Float, tolerance: float) -> int:
    """The whole number that most of these turns are, weighted by their length; 0 for none."""
    near = np.rint(turns)
    whole = np.abs(turns - near) <= tolerance
    usual, most = 0.0, 0.0
    for times in np.unique(near[whole]):
        bulk = float(times * np.sum(whole & (near == times)))
        if bulk > most:
            usual, most = times, bulk
    if np.sum(whole & (near == usual)) < FEWEST_TURNS:
        return 0
    return int(usual) if most >= REGULAR_SHARE * np.sum(turns) else 0


@compiled
def _less_again(size: Float, even_bytes: float) -> Int:
    """(messages - 1,) how many messages later less is on its way than behind each; more than there are for never."""
    level = np.cumsum(size)
    until = np.full(max(len(size) - 1, 0), len(size) + AHEAD[0])
    lower = np.empty(len(size), np.int64)  # places to the right, each lower than all nearer ones
    count = 0
    for k in range(len(size) - 1, -1, -1):
        first, last = 0, count
        while first < last:
            middle = (first + last) // 2
            if level[lower[middle]] < level[k] - even_bytes:
                first = middle + 1
            else:
                last = middle
        if k < len(until) and first > 0:
            until[k] = lower[first - 1] - k
        while count > 0 and level[lower[count - 1]] >= level[k]:
            count -= 1
        lower[count] = k
        count += 1
    return until
