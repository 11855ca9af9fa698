"""Which cables between switches a connection was seen to pass: interface indices of samples, looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.flows import Flows
from reconstruct.numeric.factorize import factorize


def find_uplinks(samples: Flows, switches: Mapping[str, str], cables: Sequence[Link], src: Int, dst: Int) -> Bool:
    """(connections, cables) which cables the packets between two endpoints passed, in their direction.

    Args:
        samples: sampled packets, with the interfaces they came in and left by.
        switches: name of the switch of each exporter's address.
        cables: between switches, with interface indices at either end.
        src: (connections,) address codes of senders.
        dst: (connections,) address codes of receivers.
    """
    size, found = len(samples.addresses), np.zeros((len(src), len(cables)), np.bool_)
    frame = samples.frame
    plugged = {(c.a, c.a_port): n for n, c in enumerate(cables)} | {(c.b, c.b_port): n for n, c in enumerate(cables)}
    for column in ("in_if", "out_if"):
        door = frame["sampler_address"].astype(np.int64) << 32 | frame[column] & 0xFFFFFFFF
        doors, place = factorize(door)
        named = [(switches.get(samples.addresses[d >> 32], ""), d & 0xFFFFFFFF) for d in doors.tolist()]
        cable = np.array([plugged.get(name, -1) for name in named], np.int64)[place]
        rows = np.flatnonzero(cable >= 0)
        pair = frame["src_addr"][rows].astype(np.int64) * size + frame["dst_addr"][rows]
        for both, number in zip(*divmod(np.unique(pair * len(cables) + cable[rows]), max(len(cables), 1)), strict=True):
            found[src * size + dst == both, number] = True
    return found
