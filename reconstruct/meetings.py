"""Which parts of jobs meet: inside a host, or on the fabric beside their collectives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.streams import Bool, Int, Streams


def meetings(
    streams: Streams, parts: Sequence[Int], hosts: Sequence[str | None] | None, large: Bool
) -> set[tuple[int, int]] | None:
    """Pairs of parts that meet, the smaller number first; None where hosts are not all known.

    Ranks of one job reach one another over the fabric or inside a host. Parts of a job that no stream with a rhythm
    joins therefore share hosts (rails, tensor groups), or other streams run between them.

    Args:
        streams: data rows by connection.
        parts: address codes of each part.
        hosts: host of each address code.
        large: (n,) streams that carry more than remarks.
    """
    if hosts is None or any(hosts[e] is None for part in parts for e in part.tolist()):
        return None
    of_host: dict[str | None, set[int]] = {}
    of_endpoint: dict[int, list[int]] = {}
    for n, part in enumerate(parts):
        for e in part.tolist():
            of_host.setdefault(hosts[e], set()).add(n)
            of_endpoint.setdefault(e, []).append(n)
    at_once = {tuple(sorted(numbers)) for numbers in of_host.values()}
    inside = np.zeros(len(streams.addresses), bool)
    inside[list(of_endpoint)] = True
    between = inside[streams.src] & inside[streams.dst] & large
    ends = np.unique(np.stack([streams.src[between], streams.dst[between]], axis=1), axis=0)
    at_once |= {tuple(sorted({*of_endpoint[a], *of_endpoint[b]})) for a, b in ends.tolist()}
    return {(a, b) for numbers in at_once for i, a in enumerate(numbers) for b in numbers[i + 1 :]}
