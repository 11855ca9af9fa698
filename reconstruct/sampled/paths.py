"""Which cables between switches a connection was seen to pass: interface indices of samples, looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.flows import Flows
from datamodel.inventory import Link
from datamodel.streams import Bool, Int


def passed(samples: Flows, switches: Mapping[str, str], cables: Sequence[Link], src: Int, dst: Int) -> Bool:
    """(connections, cables) which cables the packets between two endpoints passed, in their direction.

    Args:
        samples: sampled packets, with the interfaces they came in and left by.
        switches: name of the switch of each exporter's address.
        cables: between switches, with interface indices at either end.
        src: (connections,) address codes of senders.
        dst: (connections,) address codes of receivers.
    """
    frame, size = samples.frame, len(samples.addresses)
    plugged = {(c.a, c.a_port): n for n, c in enumerate(cables)} | {(c.b, c.b_port): n for n, c in enumerate(cables)}
    pair = frame["src_addr"].astype(np.int64) * size + frame["dst_addr"]
    rows = []
    for column in ("in_if", "out_if"):
        key = np.stack([pair, frame[column].astype(np.int64), frame["sampler_address"].astype(np.int64)])
        key = key[:, np.lexsort(key)]
        first = np.any(np.diff(key, prepend=-1) != 0, axis=0)
        for both, port, sampler in key[:, first].T.tolist():
            cable = plugged.get((switches.get(samples.addresses[sampler], ""), port))
            if cable is not None:
                rows.append((both, cable))
    found = np.zeros((len(src), len(cables)), np.bool_)
    for both, cable in rows:
        found[src * size + dst == both, cable] = True
    return found
