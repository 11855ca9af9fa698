"""Records of a flow cache: which of their stamps end a burst, and what they leave open of the bursts inside.

A cache ends a record when nothing came for its inactive timeout, or when the record has lasted its active one (RFC
5102, 5.11.1 and 5.11.2). Both of a record's stamps are packets. One that silence ended pins the end of a burst; where
the active timeout cut, a burst goes on behind it, and nothing is known but the volume. Packets nearer together than
the inactive timeout lie in one record: of what it holds only the first, the last and the sum are known, and what the
line allows between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.observations import KINDS, OBSERVATIONS
from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.jobs.job_recognition import Job
from reconstruct.numeric.medians import group_medians
from reconstruct.streams.curves import Curve
from reconstruct.timelines.job_rows import AHEAD_SHARE
from reconstruct.timelines.transfers import alike

# Stamps are whole numbers of the coarsest of these.
RESOLUTIONS_NS = (1_000_000_000, 1_000_000, 1_000)
# ... but for this share of it, by which a clock's correction moves them.
OFF_STEP = 0.02
# Records that the active timeout cut follow at once; so do those of messages, in less than this.
FOLLOWS_NS = 2_000_000
# The cut comes with the first packet after the timeout: a record may be so much shorter, and the timeout so much longer
# than the longest record.
NEARLY = 0.97
# Nobody sets an active timeout below: the unit is the second.
LEAST_ACTIVE_NS = 1_000_000_000
# As many records in which the timeout cut show that it did.
FEWEST_CUTS = 3
# A record hides pauses where its bytes fill its time but for this share of an iteration.
MERGES = 0.05
# A stream does what it does in so many of its bursts; an iteration's end is known where it is in so many iterations.
MOSTLY = 0.5
# Where so many of the streams that carry as much are read one way, the others were misread.
UNANIMOUS = 0.8
# Volumes of iterations are equal but for this share: a step of other samples, a metric that is exchanged.
EQUAL = 0.1
# Shorter than so many resolutions of its stamps, a record tells no rate.
FEWEST_STEPS = 8


@dataclass(frozen=True, slots=True)
class Timeouts:
    """What a cache was set to, as far as its records tell; 0 where they do not.

    Attributes:
        active_ns: no record lasts longer.
        inactive_ns: pauses of at least so much ended records, and shorter ones did not.
    """

    active_ns: int
    inactive_ns: int


@dataclass(frozen=True, slots=True)
class Bursts:
    """Records of a job's streams, joined where an active timeout cut them apart.

    Attributes:
        stream: (b,) stream of each, ascending.
        start_ns, end_ns, bytes: (b,) first and last packet, and what was sent between.
        hidden_ns: (b,) time in which it may have paused: as its bytes would take less at the line's rate.
        pinned: (b,) whether silence ended it.
    """

    stream: Int
    start_ns: Int
    end_ns: Int
    bytes: Int
    hidden_ns: Float
    pinned: Bool


@dataclass(frozen=True, slots=True)
class Metered:
    """What a cache's records show of one job.

    Attributes:
        timeouts: of the cache.
        bursts: the job's.
        merged: (streams,) which hide pauses inside of iterations: messages, or passes of a pipeline.
        spanning: (streams,) which of those go on from one iteration to the next.
        edges_pinned: share of the iterations whose end is the end of a burst.
        alike: share of the iterations that may have moved as much as the others: training moves equal volumes, and
            where ends are misplaced they do not.
    """

    timeouts: Timeouts
    bursts: Bursts
    merged: Bool
    spanning: Bool
    edges_pinned: float
    alike: float


def timeouts(streams: Streams) -> Timeouts:
    """The timeouts that records follow.

    A packet that came while its record's active time ran, and yet began another, came after the inactive timeout.
    Where the active timeout is as short as the inactive one no packet does; then pauses that outlast it are such.
    """
    lasted = streams.end_ns - streams.start_ns
    longest = int(lasted.max(initial=0))
    apart, next_after = _behind(streams)
    cut = (lasted >= NEARLY * longest) & (apart >= 0) & (apart < (1 - NEARLY) * longest + FOLLOWS_NS)
    active_ns = longest if np.count_nonzero(cut) >= FEWEST_CUTS else 0
    silent = apart[(apart > FOLLOWS_NS) & (next_after <= max(longest, LEAST_ACTIVE_NS))]
    return Timeouts(active_ns, int(silent.min()) if len(silent) else active_ns)


def _behind(streams: Streams) -> tuple[Int, Int]:
    """(rows,) time from each record's end to its stream's next one, and from its start; -1 for the last of a stream."""
    apart, following = (np.full(len(streams.start_ns), -1, np.int64) for _ in range(2))
    apart[:-1] = np.maximum(streams.start_ns[1:] - streams.end_ns[:-1], 0)
    following[:-1] = streams.start_ns[1:] - streams.start_ns[:-1]
    apart[streams.offsets[1:] - 1] = following[streams.offsets[1:] - 1] = -1
    return apart, following


def observations(streams: Streams) -> Frame:
    """What records say of their connections: the two packets that each stamps, and the bytes until then."""
    rows = len(streams.start_ns)
    of = np.repeat(np.arange(len(streams)), np.diff(streams.offsets))
    total = np.cumsum(streams.bytes)
    sent = total - (total - streams.bytes)[streams.offsets[:-1]][of]
    bytes_at = np.stack([sent - streams.bytes, sent], axis=1).ravel()
    return Frame(
        OBSERVATIONS,
        {
            "stream": np.repeat(of, 2),
            "time_ns": np.stack([streams.start_ns, streams.end_ns], axis=1).ravel(),
            "time_error_ns": np.full(2 * rows, resolution_ns(streams)),
            "bytes_low": bytes_at,
            "bytes_high": bytes_at,
            "kind": np.tile([KINDS.index("first packet"), KINDS.index("last packet")], rows),
        },
    )


def resolution_ns(streams: Streams) -> int:
    """How coarse stamps are; 0 where they are no multiples of anything.

    Told from differences of a second at most: over longer ones the correction of a drifting clock shows.
    """
    apart = np.diff(streams.start_ns)
    apart[streams.offsets[1:-1] - 1] = 0
    lasted = np.concatenate([streams.end_ns - streams.start_ns, apart])
    lasted = lasted[(lasted > 0) & (lasted <= RESOLUTIONS_NS[0])]
    for step in RESOLUTIONS_NS:
        long = lasted[lasted >= step // 2]
        off = np.abs((long + step // 2) % step - step // 2)
        if len(long) and np.mean(off <= OFF_STEP * step) >= NEARLY:
            return step
    return 0


def metered(streams: Streams, job: Job, speed_bps: Mapping[int, float]) -> Metered:
    """What a cache's records show of one job.

    Args:
        streams: the job's alone, of a cache's records.
        job: on them.
        speed_bps: of the links of endpoints, by address code, where it is known; otherwise the job's fastest record
            is taken for what a line carries.
    """
    found = timeouts(streams)
    period_ns = float(np.median(np.diff(job.edges_ns)))
    joined = _joined(streams, found)
    curve = Curve.of(observations(streams), len(streams), _line_rates(streams, speed_bps, joined))
    bursts = replace(joined, hidden_ns=_hidden_ns(curve, joined))
    merged = _agreed(group_medians(bursts.hidden_ns, bursts.stream, len(streams)) > MERGES * period_ns, streams)
    over = _iterations_spanned(bursts, job.edges_ns, period_ns) > 0
    often = np.bincount(bursts.stream, over, len(streams)) > MOSTLY * np.bincount(bursts.stream)
    ends = np.sort(bursts.end_ns[bursts.pinned])
    at = np.searchsorted(ends, job.edges_ns + 1)
    held = (at > 0) & (job.edges_ns - ends[np.maximum(at - 1, 0)] <= FOLLOWS_NS) if len(ends) else np.zeros(1, np.bool_)
    return Metered(found, bursts, merged, merged & often, float(np.mean(held)), _alike(curve, job.edges_ns))


def _agreed(merged: Bool, streams: Streams) -> Bool:
    """(streams,) the same, but as nearly all that carry as much have it: a slow link makes bursts long, not hollow."""
    kind = alike(streams.total_bytes().astype(np.float64))
    share = (np.bincount(kind, merged) / np.bincount(kind))[kind]
    return np.where(share >= UNANIMOUS, True, np.where(share <= 1 - UNANIMOUS, False, merged))


def _line_rates(streams: Streams, speed_bps: Mapping[int, float], bursts: Bursts) -> Float:
    """(streams,) the most that each sends, bytes a ns: of its link, what those that send beside it leave."""
    step = max(resolution_ns(streams), 1)
    lasted = bursts.end_ns - bursts.start_ns
    beside = _sent_meanwhile(streams, bursts)
    long = lasted >= FEWEST_STEPS * step
    seen = float((beside[long] / (lasted[long] + step)).max(initial=0.0))
    known = np.array([speed_bps.get(e, 0.0) / 8e9 for e in streams.src.tolist()])
    link = np.where(known > 0, known, seen if seen > 0 else np.inf)
    share = group_medians(bursts.bytes / np.maximum(beside, 1.0), bursts.stream, len(streams))
    return np.asarray(link * np.minimum(share, 1.0), np.float64)


def _sent_meanwhile(streams: Streams, bursts: Bursts) -> Float:
    """(b,) bytes that a burst's sender sent to all, from the burst's beginning to its end."""
    src = streams.src[bursts.stream]
    order = np.lexsort([bursts.start_ns, src])
    sent = np.zeros(len(order))
    start, end, size = (to_contiguous(column[order]) for column in (bursts.start_ns, bursts.end_ns, bursts.bytes))
    _add_overlaps(to_contiguous(src[order]), start, end, size, sent)
    back = np.empty(len(order))
    back[order] = sent
    return back


@compiled
def _add_overlaps(src: Int, start: Int, end: Int, size: Int, sent: Float) -> None:
    """Add to each burst its own bytes, and those of its sender's others in proportion to the time they share."""
    for k in range(len(src)):
        sent[k] += size[k]
        other = k + 1
        while other < len(src) and src[other] == src[k] and start[other] <= end[k]:
            shared = float(min(end[k], end[other]) - start[other])
            sent[k] += size[other] * shared / max(float(end[other] - start[other]), 1.0)
            sent[other] += size[k] * shared / max(float(end[k] - start[k]), 1.0)
            other += 1


def _joined(streams: Streams, found: Timeouts) -> Bursts:
    """Records joined where no more than a cut lies between; what they hide is not known yet."""
    apart, _ = _behind(streams)
    last = apart < 0
    ends = np.flatnonzero(last | (apart >= max(found.inactive_ns, FOLLOWS_NS)))
    first = np.concatenate([[0], ends[:-1] + 1])
    of = np.searchsorted(streams.offsets, first, side="right") - 1
    sent = np.concatenate([[0], np.cumsum(streams.bytes)])
    size, nothing = sent[ends + 1] - sent[first], np.zeros(len(first))
    return Bursts(of, streams.start_ns[first], streams.end_ns[ends], size, nothing, ~last[ends])


def _alike(curve: Curve, edges_ns: Int) -> float:
    """Share of the iterations between edges in which all streams may have sent as much as is usual."""
    count, streams = len(edges_ns), len(curve.offsets) - 1
    of = np.repeat(np.arange(streams), count)
    by = curve.bytes_at(of, np.tile(edges_ns, streams))
    low, high = (bound.reshape(streams, count).sum(axis=0) for bound in by)
    least, most = low[1:] - high[:-1], high[1:] - low[:-1]
    usual = float(np.median((least + most) / 2))
    return float(np.mean((least <= (1 + EQUAL) * usual) & (most >= (1 - EQUAL) * usual)))


def _hidden_ns(curve: Curve, bursts: Bursts) -> Float:
    """(b,) what is not known of the time at which half of each burst was sent: so long it may have paused."""
    total = np.cumsum(bursts.bytes)
    before = total - bursts.bytes
    before -= before[np.searchsorted(bursts.stream, bursts.stream)]
    return curve.time_at(bursts.stream, before + np.maximum(bursts.bytes // 2, 1)).width


def _iterations_spanned(bursts: Bursts, edges_ns: Int, period_ns: float) -> Int:
    """(b,) how many iterations end amid each burst, clearly behind its beginning and before its end."""
    slack = int(AHEAD_SHARE * period_ns)
    begun, ended = (np.searchsorted(edges_ns, t) for t in (bursts.start_ns + slack, bursts.end_ns - slack))
    return np.asarray(np.maximum(ended - begun, 0), np.int64)
