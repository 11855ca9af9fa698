"""Payloads as the batch of datagrams that they arrive in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from capture.exporters.datagram import DATAGRAM, Datagrams, announced
from capture.tables.read_buffer import as_array

PORT = 40000


def arrived(
    payloads: Sequence[bytes],
    times_ns: npt.ArrayLike,
    source: tuple[npt.ArrayLike, npt.ArrayLike] = (0, 0),
    port: int = PORT,
    cut: bool = False,
    in_session: bool = False,
) -> Datagrams:
    """Datagrams of the protocols that they announce.

    Args:
        payloads: one each.
        times_ns: when they were received; one for all or one each.
        source: high and low word of the address they came from; likewise.
        port: the port they came from.
        cut: whether the capture cut them.
        in_session: whether they came over TCP.
    """
    index = np.zeros(len(payloads), DATAGRAM)
    data = as_array(b"".join(payloads) or b"\0")
    sizes = np.array([len(payload) for payload in payloads], np.int64)
    index["offset"], index["bytes"], index["time_ns"] = np.cumsum(sizes) - sizes, sizes, times_ns
    index["source_high"], index["source_low"] = source
    index["source_port"], index["cut"], index["in_session"] = port, cut, in_session
    protocols = {payload: announced(as_array(payload or b"\0"), 0, len(payload)) for payload in set(payloads)}
    index["protocol"] = [protocols[payload] for payload in payloads]
    return Datagrams(data, index)
