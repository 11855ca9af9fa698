"""Records of a meter: what is nearer together than its inactive timeout lies in one of them."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Streams
from reconstruct.jobs import Job

# Records that a timeout cuts follow at once; stamps are good to a millisecond.
FOLLOWS_NS = 2_000_000
# Shorter pauses than this share of all are no rule of the meter's.
SHARE = 0.1
FEWEST_PAUSES = 20
# A record that lasts this share of the longest one may have been ended by the active timeout: the pause behind it,
# where the next packet was late, may be shorter than the inactive one.
NEARLY_LONGEST = 0.75
# Messages lie nearer together than this share of an iteration: a meter that merges such tells iterations, nothing else.
MERGES = 0.05


def merged_pause_ns(streams: Streams, job: Job) -> int:
    """Pauses up to this long lie inside of records and hide messages; 0 where they are short beside iterations.

    Args:
        streams: the job's alone, of a meter's records.
        job: on them.
    """
    hidden_ns = 0 if streams.trains.any() else hidden_pause_ns(streams)
    return hidden_ns if hidden_ns > MERGES * float(np.median(np.diff(job.edges_ns))) else 0


def hidden_pause_ns(streams: Streams) -> int:
    """Pauses up to this long do not show: the shortest that do, but for a few; 0 where too few are seen.

    A meter ends a record when nothing came for its inactive timeout (RFC 5102, 5.11.1), so no pause between two records
    of a connection is shorter than that, but for those behind records that its active timeout ended.
    """
    gap = streams.start_ns[1:] - streams.end_ns[:-1]
    pause = gap > FOLLOWS_NS
    pause[streams.offsets[1:-1] - 1] = False
    lasted = streams.end_ns[:-1] - streams.start_ns[:-1]
    ended_itself = pause & (lasted < NEARLY_LONGEST * lasted.max(initial=0))
    enough = np.count_nonzero(ended_itself) >= FEWEST_PAUSES
    pauses = np.sort(gap[ended_itself if enough else pause])
    return int(pauses[int(SHARE * len(pauses))]) if len(pauses) >= FEWEST_PAUSES else 0
