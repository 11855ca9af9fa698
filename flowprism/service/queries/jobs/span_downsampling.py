"""Spans made fewer for a screen: short ones that lie close together become one, long ones stay as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES

Int = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DownsampledSpans:
    """Spans; some stand for several.

    Attributes:
        spans: in order of endpoint and time. One that stands for several begins with the first and ends with the last
            of them, and moved the bytes of all; its peer, group and iteration are those of the longest.
        merged: how many each one stands for.
        longest_ns: length of the longest of them.
        busy_ns: lengths of all of them together.
        resolution_ns: spans of this length or more stand for themselves; 0 where all do.
    """

    spans: Frame
    merged: Int
    longest_ns: Int
    busy_ns: Int
    resolution_ns: int


def downsample(spans: Frame, most: int) -> DownsampledSpans:
    """At most `most` spans, as long as that leaves one for each endpoint and kind; the finest resolution that does.

    Spans shorter than the resolution that begin in the same stretch of that length, of one endpoint and of one kind,
    are put together. The longest, which are what one looks for, are never touched.
    """
    lengths_ns = spans["end_ns"] - spans["start_ns"]
    if len(spans) <= most:
        return DownsampledSpans(spans, np.ones(len(spans), np.int64), lengths_ns, lengths_ns, 0)
    origin_ns = int(spans["start_ns"].min())
    whole_ns = int(spans["end_ns"].max()) - origin_ns + 1
    resolution_ns = max(whole_ns // most, 1)
    keys = _keys(spans, lengths_ns, origin_ns, resolution_ns)
    while len(np.unique(keys)) > most and resolution_ns < whole_ns:
        resolution_ns *= 2
        keys = _keys(spans, lengths_ns, origin_ns, resolution_ns)
    return _merged(spans, lengths_ns, keys, resolution_ns)


def _keys(spans: Frame, lengths_ns: Int, origin_ns: int, resolution_ns: int) -> Int:
    """A number for each span, the same for those that are put together; long ones have their own, below zero."""
    kinds = len(SPAN_NAMES)
    stretch = (spans["start_ns"] - origin_ns) // resolution_ns
    rows = spans["endpoint"].astype(np.int64) * kinds + spans["span"]
    keys: Int = stretch * (int(rows.max()) + 1) + rows
    return np.where(lengths_ns >= resolution_ns, -1 - np.arange(len(spans)), keys)


def _merged(spans: Frame, lengths_ns: Int, keys: Int, resolution_ns: int) -> DownsampledSpans:
    order = np.lexsort((-lengths_ns, keys))  # the longest of each group comes first
    begins = np.flatnonzero(np.diff(keys[order], prepend=keys[order][0] - 1))
    longest = order[begins]
    counts = np.diff(np.append(begins, len(order)))
    chosen = spans.take(longest).replace(
        start_ns=np.minimum.reduceat(spans["start_ns"][order], begins),
        end_ns=np.maximum.reduceat(spans["end_ns"][order], begins),
        bytes=np.add.reduceat(spans["bytes"][order], begins),
    )
    busy_ns = np.add.reduceat(lengths_ns[order], begins)
    place = np.lexsort((chosen["span"], chosen["start_ns"], chosen["endpoint"]))
    return DownsampledSpans(
        chosen.take(place), counts[place], lengths_ns[longest][place], busy_ns[place], resolution_ns
    )
