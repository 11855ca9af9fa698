"""What a flow cache's records leave open of a job's transfers: the ways to place what they hide that lie most apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.frame import Frame, concat
from datamodel.reconstructed.streams import Bool, Int, Streams
from datamodel.reconstructed.transfers import TRANSFERS
from reconstruct.jobs.job_recognition import Job
from reconstruct.numeric.row_runs import place_within
from reconstruct.timelines.job_rows import AHEAD_SHARE
from reconstruct.timelines.merged_messages import Metered, resolution_ns
from reconstruct.timelines.transfers import transfers


def latest_arrivals(streams: Streams) -> Streams:
    """The same records, ending and arriving as late as the rounding of their stamps allows.

    Nothing is then sent in answer to what was sent with it: what two send at once may lie in two milliseconds, and a
    record that begins and ends in one would be its own cause.
    """
    step = resolution_ns(streams)
    end_ns = streams.end_ns + step
    return replace(streams, end_ns=end_ns, delivered_ns=end_ns + step) if step else streams


def known_transfers(streams: Streams, job: Job, found: Metered) -> tuple[Frame, ...]:
    """A job's transfers, by stream and time, in each of the ways that a cache's records leave most apart.

    Of a burst that hides pauses its ends and its volume are known. It may have been sent all at its beginning; or half
    of it there, and half at its end. What both ways say is known. Where nothing is hidden there is one way. Of messages
    those are counted that begin with a transfer's first: a cache cuts what lasts, and merges what follows.

    Args:
        streams: the job's alone, of a cache's records.
        job: on them.
        found: what they show.
    """
    frame = transfers(streams, job)
    frame = frame.replace(messages=frame["at_once"])
    merged = found.merged[frame["stream"]]
    if not merged.any():
        return (frame,)
    rest = frame.take(np.flatnonzero(~merged))
    return tuple(_beside(rest, _placed(streams, job.edges_ns, found, parts)) for parts in (2, 1))


def _beside(rest: Frame, placed: Frame) -> Frame:
    both = concat(TRANSFERS, [rest, placed])
    both = both.take(np.lexsort([both["start_ns"], both["stream"]]))
    return both.replace(slot=place_within(both["stream"], both["iteration"]))


def _placed(streams: Streams, edges_ns: Int, found: Metered, parts: int) -> Frame:
    """Bursts that hide pauses, sent at their beginning; in two parts, at their beginning and at their end."""
    b, own = found.bursts, np.flatnonzero(found.merged[found.bursts.stream])
    start, end, size, stream = b.start_ns[own], b.end_ns[own], b.bytes[own], b.stream[own]
    hidden = np.clip(b.hidden_ns[own], 0, end - start).astype(np.int64)
    sending = (end - start - hidden) // parts
    ahead = int(AHEAD_SHARE * float(np.median(np.diff(edges_ns))))
    iteration = np.searchsorted(edges_ns, np.minimum(start + ahead, end))
    iteration = np.where(iteration < len(edges_ns), iteration, -1)
    named = {"src": streams.src[stream], "dst": streams.dst[stream], "stream": stream, "iteration": iteration}
    begins = np.stack([start, end - sending], axis=1)[:, :parts].ravel()
    shares = np.stack([size // parts, size - size // parts], axis=1)[:, :parts].ravel()
    times = {"start_ns": begins, "end_ns": begins + np.repeat(sending, parts), "bytes": shares}
    repeated = {name: np.repeat(column, parts) for name, column in named.items()}
    return Frame(TRANSFERS, {**repeated, **times, "slot": np.zeros(parts * len(own), np.int64)})


def both_ways(streams: Streams, merged: Bool) -> bool:
    """Whether some pair sends both ways in bursts that hide pauses: whether at once or in turn they do not say."""
    pair = streams.src[merged] * len(streams.addresses) + streams.dst[merged]
    back = streams.dst[merged] * len(streams.addresses) + streams.src[merged]
    return bool(np.isin(pair, back).any())
