"""Which parts of jobs meet: inside a host, or on the fabric beside their collectives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array

from datamodel.reconstructed.streams import Bool, Int, Streams


def find_contacts(
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
    if not parts:
        return set()
    number = {host: n for n, host in enumerate(dict.fromkeys(hosts))}
    part = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    endpoint = np.concatenate(parts)
    host = np.array([number[h] for h in hosts])[endpoint]
    inside = _table(host, part, (len(number), len(parts)))
    held = _table(endpoint, part, (len(hosts), len(parts)))
    beside = _table(streams.src[large], streams.dst[large], (len(hosts), len(hosts)))
    meet = (inside.T @ inside + held.T @ beside @ held).tocoo()
    return {(min(a, b), max(a, b)) for a, b in zip(meet.row.tolist(), meet.col.tolist(), strict=True) if a != b}


def share_all_hosts(pairs: Int, parts: Sequence[Int], hosts: Sequence[str | None] | None) -> Bool:
    """(pairs,) which pairs of parts are on the same hosts, all of them known and several.

    Args:
        pairs: (pairs, 2) numbers of parts.
        parts: address codes of each part.
        hosts: host of each address code, where an inventory names it.
    """
    if hosts is None:
        return np.zeros(len(pairs), np.bool_)
    own = [{hosts[e] for e in part.tolist()} for part in parts]
    return np.array([own[a] == own[b] and len(own[a]) > 1 and None not in own[a] for a, b in pairs.tolist()], np.bool_)


def _table(row: Int, column: Int, shape: tuple[int, int]) -> csr_array:
    """A sparse table that holds how often each (row, column) stands."""
    return coo_array((np.ones(len(row), np.int64), (row, column)), shape=shape).tocsr()
