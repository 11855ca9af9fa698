"""Silences that are longer than a stream's own pauses, and common to several: its exporter may have been away."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.periods.byte_period import pauses_ns
from reconstruct.streams.endpoint_sets import join_endpoints

# Longer than the longest of a stream's usual pauses by this: iterations vary by less, but where something happened.
UNUSUAL = 1.3
# So many pauses of a stream may be unusual: a checkpoint or two beside an outage.
MOST_UNUSUAL = 3
# A window is looked at in so many moments for pauses of all: a millisecond each in a minute's.
MOMENTS = 1 << 16
# A silence is that of all that streams send together where it lasts for this part of their pauses.
LONG_SILENCE = 0.5
SENDING, ELSEWHEN = -1, -2
# A stream is silent in a stretch of time if one of its pauses covers this share of it: the stretch is what pauses of
# others have in common, and the rows at its ends are of bursts that were cut.
SILENT = 0.9
# Streams that begin this share of their usual rows while others pause send.
GOES_ON = 0.5
# Fewer rows show no usual pause.
FEWEST_ROWS = 12


class SharedSilence(NamedTuple):
    """Time in which streams that send otherwise sent nothing.

    Attributes:
        start_ns: when what the unusual pauses of most streams have in common begins.
        stream: (n,) streams that sent before and after, and nothing between; where not all streams are silent, those
            that endpoints join to one whose pause is unusual.
        row: (n,) the last row of each before it.
        going_on: (m,) streams that sent meanwhile, without a pause that covers most of it.
    """

    start_ns: int
    stream: Int
    row: Int
    going_on: Int


def find_silences(streams: Streams) -> list[SharedSilence]:
    """The silences of all streams, then those that most share; at most `MOST_UNUSUAL` of each.

    Args:
        streams: data rows by connection.
    """
    times = to_contiguous(streams.start_ns), to_contiguous(streams.end_ns)
    pause = _unusual_pauses(streams.offsets, *times)
    # all together pause for less long than each of them, so that a silence of all is unusual where no stream's is
    spans = [_span(pause, *span) for span in _pauses_of_all(*times)]
    found = [_silence(streams, times, span) for span in spans]
    for span in spans:
        pause = _apart(pause, span)
    for _ in range(MOST_UNUSUAL):
        if pause.shape[1] < 2 or len((span := _most_shared(pause)).sharing) < 2:
            break
        found.append(_of_jobs(streams, _silence(streams, times, span), span.sharing))
        pause = _apart(pause, span)
    return found


class _Span(NamedTuple):
    """What pauses have in common, the streams that share it, and when their pauses usually begin and end."""

    first_ns: int
    last_ns: int
    sharing: Int
    begin_ns: int
    end_ns: int


def _span(pause: Int, first_ns: int, last_ns: int) -> _Span:
    """A stretch of time, with those of some pauses that hold it."""
    own = (pause[0] <= first_ns) & (pause[1] >= last_ns)
    usual = np.median(pause[:2, own], axis=1).astype(np.int64).tolist() if own.any() else (first_ns, last_ns)
    return _Span(first_ns, last_ns, pause[2, own], *usual)


def _silence(streams: Streams, times: tuple[Int, Int], span: _Span) -> SharedSilence:
    row = _rows_before(streams.offsets, *times, span.first_ns, span.last_ns)
    silent = np.flatnonzero(row >= 0)
    row[silent[_go_on(streams, times, silent, span)]] = SENDING
    silent, going_on = np.flatnonzero(row >= 0), np.flatnonzero(row == SENDING)
    return SharedSilence(span.first_ns, silent, row[silent], going_on)


def _of_jobs(streams: Streams, silence: SharedSilence, unusual: Int) -> SharedSilence:
    """The silence without streams that no endpoints join to one with an unusual pause: their jobs lost nothing."""
    job = join_endpoints(streams, np.arange(len(streams)))[streams.src]
    own = np.isin(job[silence.stream], job[unusual])
    return silence._replace(stream=silence.stream[own], row=silence.row[own])


def _go_on(streams: Streams, times: tuple[Int, Int], silent: Int, span: _Span) -> Bool:
    """(n,) which of some silent streams pause by chance: they send while others, at least half of them, pause.

    Not those with an unusual pause: theirs may begin later than the others'. None of them where these are silent
    together for half of that time, too.
    """
    lasts_ns = span.end_ns - span.begin_ns
    within, usual = (
        count_rows(streams.offsets, times[0], begin_ns, begin_ns + lasts_ns)[silent]
        for begin_ns in (span.begin_ns, span.begin_ns - lasts_ns)
    )
    sends = (within > GOES_ON * usual) & ~np.isin(silent, span.sharing)
    if 2 * len(span.sharing) < len(silent) or not sends.any():
        return np.zeros(len(silent), np.bool_)
    own = streams.take(silent[sends])
    within = np.flatnonzero((own.end_ns >= span.begin_ns) & (own.start_ns <= span.end_ns))
    within = within[np.argsort(own.start_ns[within], kind="stable")]
    latest_ns = np.maximum.accumulate(np.append(span.begin_ns, own.end_ns[within]))
    silent_ns = np.append(own.start_ns[within], span.end_ns) - latest_ns
    return sends if int(silent_ns.max()) < LONG_SILENCE * lasts_ns else np.zeros(len(silent), np.bool_)


def _pauses_of_all(start_ns: Int, end_ns: Int) -> list[tuple[int, int]]:
    """Beginning and end of each unusual pause of all streams together."""
    if len(start_ns) < FEWEST_ROWS:
        return []
    begin_ns = int(start_ns.min())
    each_ns = max((int(end_ns.max()) - begin_ns) // MOMENTS, 1)
    sends = _moments(start_ns, end_ns, begin_ns, each_ns)
    bounds = np.flatnonzero(np.diff(sends, prepend=1, append=1)).reshape(-1, 2)
    length = bounds[:, 1] - bounds[:, 0]
    longest = np.argsort(-length, kind="stable")[: MOST_UNUSUAL + 1]
    usual = length[longest[-1]] if len(longest) > MOST_UNUSUAL else 1
    unusual = bounds[longest[:MOST_UNUSUAL]][length[longest[:MOST_UNUSUAL]] > UNUSUAL * usual]
    return [(begin_ns + first * each_ns, begin_ns + last * each_ns) for first, last in unusual.tolist()]


@compiled
def _moments(start_ns: Int, end_ns: Int, begin_ns: int, each_ns: int) -> Int:
    """(moments,) 1 where any row is sent, else 0."""
    step = np.zeros((np.max(end_ns) - begin_ns) // each_ns + 2, np.int64)
    for k in range(len(start_ns)):
        step[(start_ns[k] - begin_ns) // each_ns] += 1
        step[(max(end_ns[k], start_ns[k]) - begin_ns) // each_ns + 1] -= 1
    sends = np.cumsum(step)[:-1]
    return np.minimum(sends, 1)


def _apart(pause: Int, span: _Span) -> Int:
    """(3, n) those of some pauses that do not overlap a stretch of time."""
    return pause[:, (pause[1] < span.first_ns) | (pause[0] > span.last_ns)]


def _most_shared(pause: Int) -> _Span:
    """What the most pauses that overlap have in common."""
    at = pause[:2].ravel()
    step = np.repeat([1, -1], pause.shape[1])
    order = np.lexsort([-step, at])
    best = int(np.argmax(np.cumsum(step[order])))
    return _span(pause, int(at[order[best]]), int(at[order[best + 1]]))


@compiled
def _unusual_pauses(offsets: Int, start_ns: Int, end_ns: Int) -> Int:
    """(3, n) beginning, end and stream of each pause that is longer than all usual ones of its stream."""
    found = np.empty((3, MOST_UNUSUAL * max(len(offsets) - 1, 1)), np.int64)
    n = 0
    for stream in range(len(offsets) - 1):
        low, high = offsets[stream], offsets[stream + 1]
        if high - low < FEWEST_ROWS:
            continue
        pause = pauses_ns(start_ns[low:high], end_ns[low:high])
        order = np.argsort(pause)[::-1]
        usual = pause[order[MOST_UNUSUAL]]
        for k in order[:MOST_UNUSUAL]:
            if pause[k] > UNUSUAL * usual:
                found[1, n] = start_ns[low + k + 1]
                found[0, n] = found[1, n] - np.int64(pause[k])
                found[2, n] = stream
                n += 1
    return found[:, :n].copy()


@compiled
def _rows_before(offsets: Int, start_ns: Int, end_ns: Int, first_ns: int, last_ns: int) -> Int:
    """(streams,) last row before the pause of streams that are silent in a stretch of time, and not before or after.

    `SENDING` for those that send in it, `ELSEWHEN` for the others.
    """
    found = np.full(len(offsets) - 1, ELSEWHEN, np.int64)
    for stream in range(len(found)):
        low, high = offsets[stream], offsets[stream + 1]
        row = low + np.searchsorted(start_ns[low:high], first_ns, side="right") - 1
        if row < low or row + 1 >= high:
            continue
        found[stream] = SENDING
        since_ns = max(end_ns[row], first_ns)
        while row + 1 < high and since_ns < last_ns:
            if min(start_ns[row + 1], last_ns) - since_ns >= SILENT * (last_ns - first_ns):
                found[stream] = row
            row += 1
            since_ns = max(since_ns, end_ns[row])
    return found


@compiled
def count_rows(offsets: Int, start_ns: Int, begin_ns: int, end_ns: int) -> Int:
    """(streams,) how many rows of each begin in a stretch of time."""
    found = np.zeros(len(offsets) - 1, np.int64)
    for stream in range(len(found)):
        own = start_ns[offsets[stream] : offsets[stream + 1]]
        found[stream] = np.searchsorted(own, end_ns) - np.searchsorted(own, begin_ns)
    return found
