"""Records of a meter: what is nearer together than its inactive timeout lies in one of them."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Streams

# Records that a timeout cuts follow at once; stamps are good to a millisecond.
FOLLOWS_NS = 2_000_000
# Shorter pauses than this share of all are no rule of the meter's.
SHARE = 0.1
FEWEST_PAUSES = 20


def hidden_pause_ns(streams: Streams) -> int:
    """Pauses up to this long do not show: the shortest that do, but for a few; 0 where too few are seen.

    A meter ends a record when nothing came for its inactive timeout (RFC 5102, 5.11.1), so no pause between two records
    of a connection is shorter than that, but for those that its active timeout cut in the middle.
    """
    gap = streams.start_ns[1:] - streams.end_ns[:-1]
    inside = np.ones(len(gap), np.bool_)
    inside[streams.offsets[1:-1] - 1] = False
    pauses = np.sort(gap[inside & (gap > FOLLOWS_NS)])
    return int(pauses[int(SHARE * len(pauses))]) if len(pauses) >= FEWEST_PAUSES else 0
