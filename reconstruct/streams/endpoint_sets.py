"""Sets of endpoints that streams join, directly or over others."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.reconstructed.streams import Bool, Int, Streams


def join_endpoints(streams: Streams, some: Int | Bool) -> Int:
    """(addresses,) number of the set of each address code: endpoints that some of the streams join."""
    src, dst, codes = streams.src[some], streams.dst[some], len(streams.addresses)
    graph = coo_array((np.ones(len(src)), (src, dst)), shape=(codes, codes))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)
