"""Collectives as operations: rings and trees as NCCL runs them, and all-to-all exchanges.

Members of one host talk over NVLink, which no fabric sees: a ring or tree goes from host to host, and where a host has
several members each has channels of its own, so that every NIC carries its share. Sources: NVIDIA/nccl,
src/graph/trees.cc (double binary tree), src/include/collectives.h (steps); Sanders et al., Parallel Computing 35
(2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.errors import InputError
from datamodel.reconstructed.streams import Int
from simulate.network.graph import MARK, NO_INDEX, TRANSFER, GraphBuilder


@dataclass(frozen=True, slots=True)
class CollectiveOptions:
    """How collectives are carried out.

    Attributes:
        channels: parallel rings or trees through each NIC.
        tree: all-reduce over a double binary tree instead of a ring.
        steps: a collective of more steps is run in so many lockstep pieces instead: each piece starts on all edges
            when it has arrived on all, so that the slowest edge paces the others, as it does in a ring of many steps.
        slots: chunks a member may send ahead of what its successor has passed on.
        crossing: where a host has several members, a ring enters by one's NIC and leaves by the next one's
            (NCCL_CROSS_NIC=1); without, it stays on one rail.
    """

    channels: int = 1
    tree: bool = False
    steps: int = 32
    slots: int = 2
    crossing: bool = False


@dataclass(frozen=True, slots=True)
class HostGroups:
    """Members of groups by host: (groups, hosts, members of each)."""

    members: Int

    @property
    def local(self) -> int:
        """Members of a group on each host."""
        return int(self.members.shape[2])


def by_host(groups: Int, host_of_rank: Int) -> HostGroups:
    """Members gathered by host, hosts in order of their first member.

    Raises:
        InputError: hosts hold different numbers of a group's members.
    """
    host = host_of_rank[groups]
    order = np.argsort(_first_seen(host), axis=1, kind="stable")
    sorted_hosts = np.take_along_axis(host, order, axis=1)
    count = groups.shape[1]
    changes = 1 + (sorted_hosts[:, 1:] != sorted_hosts[:, :-1]).sum(axis=1)
    local = count // int(changes[0])
    even = (changes == changes[0]).all() and local * int(changes[0]) == count
    whole = sorted_hosts.reshape(len(groups), -1, local) if even else None
    if whole is None or (whole != whole[:, :, :1]).any():
        raise InputError("a process group has unequally many members on its hosts")
    return HostGroups(np.take_along_axis(groups, order, axis=1).reshape(len(groups), -1, local))


def _first_seen(host: Int) -> Int:
    """(groups, members) place of the first member on the same host."""
    first = np.empty_like(host)
    for n, row in enumerate(host):
        _, places, which = np.unique(row, return_index=True, return_inverse=True)
        first[n] = places[which]
    return first


def collective(
    builder: GraphBuilder,
    options: CollectiveOptions,
    hosts: HostGroups,
    ready: Int,
    size: float,
    phases: int,
    purpose: int,
) -> Int:
    """A reduce-scatter or all-gather (one phase) or all-reduce (two) in each group.

    Args:
        builder: takes the operations.
        options: how.
        hosts: the groups.
        ready: (groups, hosts, members) operations after which each member takes part.
        size: bytes of a member's whole buffer.
        phases: 1 or 2.
        purpose: what it serves.

    Returns:
        (groups, hosts, members) operations that end when each member has its result.
    """
    groups, count, local = hosts.members.shape
    together = ready[:, :, 0] if local == 1 else builder.join(ready.reshape(-1, local)).reshape(groups, count)
    if count == 1:
        return np.broadcast_to(together[:, :, None], hosts.members.shape)
    share = phases * (count * local - 1) / (count * local) * size / (options.channels * local)
    ends = []
    for channel in range(options.channels * local):
        members = hosts.members[:, :, channel % local]
        entries = hosts.members[:, :, (channel + 1) % local] if options.crossing else members
        if options.tree and phases == 2:
            ends.append(_tree(builder, options, members, together, share / 2, channel, purpose))
        elif phases * (count - 1) <= options.steps:
            ends.append(
                _ring(builder, options, (members, entries), together, share, phases * (count - 1), channel, purpose)
            )
        else:
            ends.append(_lockstep(builder, options, (members, entries), together, share, channel, purpose))
    done = builder.join(np.stack(ends, axis=2).reshape(groups * count, -1)).reshape(groups, count)
    return np.broadcast_to(done[:, :, None], hosts.members.shape)


def _ring(
    builder: GraphBuilder,
    options: CollectiveOptions,
    ring: tuple[Int, Int],
    ready: Int,
    share: float,
    steps: int,
    channel: int,
    purpose: int,
) -> Int:
    """Step by step: a member passes on what it has received, when its successor has a slot for it; (groups, hosts).

    `ring` is the sender and the receiver on each host.
    """
    members, entries = ring
    following, count = np.roll(entries, -1, axis=1), members.size
    ids = np.stack(
        [
            builder.add(
                TRANSFER,
                count,
                work=share / steps,
                purpose=purpose,
                src=members.ravel(),
                dst=following.ravel(),
                channel=channel,
            )
            for _ in range(steps)
        ]
    ).reshape(steps, *members.shape)
    builder.edges(ready.ravel(), ids[0].ravel())
    ahead = options.slots
    for step in ids[:ahead]:
        builder.posts(np.roll(ready, -1, axis=1).ravel(), step.ravel())
    builder.edges(ids[:-1].ravel(), ids[1:].ravel())
    builder.edges(np.roll(ids[:-1], 1, axis=2).ravel(), ids[1:].ravel())
    if steps > ahead:
        builder.posts(np.roll(ids[:-ahead], -1, axis=2).ravel(), ids[ahead:].ravel())
    last = ids[-1]
    return builder.join(np.stack([last, np.roll(last, 1, axis=1)], axis=2).reshape(-1, 2)).reshape(members.shape)


def _lockstep(
    builder: GraphBuilder,
    options: CollectiveOptions,
    ring: tuple[Int, Int],
    ready: Int,
    share: float,
    channel: int,
    purpose: int,
) -> Int:
    """In pieces that start on all edges of a ring at once; (groups, hosts)."""
    members, entries = ring
    following, count = np.roll(entries, -1, axis=1), members.shape[1]
    mark = builder.join(ready)
    for number in range(options.steps):
        piece = builder.add(
            TRANSFER,
            members.size,
            after=[np.repeat(mark, count)],
            work=share / options.steps,
            purpose=purpose,
            src=members.ravel(),
            dst=following.ravel(),
            channel=channel,
        )
        if number == 0:
            builder.posts(np.roll(ready, -1, axis=1).ravel(), piece)
        mark = builder.join(piece.reshape(members.shape))
    return np.repeat(mark, count).reshape(members.shape)


def parents(count: int) -> Int:
    """(count,) parent of each node of NCCL's binary tree (`ncclGetBtree`); NO_INDEX of the root."""
    node = np.arange(count)
    bit = np.where(node > 0, node & -node, 0)
    up = (node ^ bit) | (bit << 1)
    up = np.where(up >= count, node ^ bit, up)
    return np.where(node == 0, NO_INDEX, up)


def _tree(
    builder: GraphBuilder,
    options: CollectiveOptions,
    members: Int,
    ready: Int,
    share: float,
    channel: int,
    purpose: int,
) -> Int:
    """Reduced up a tree and broadcast down it, piece behind piece; every other channel uses the mirrored tree."""
    groups, count = members.shape
    pieces = max(options.steps // 4, 1)
    order = np.arange(count)[::-1] if channel % 2 else np.arange(count)
    parent = parents(count)
    child = np.flatnonzero(parent != NO_INDEX)
    low, high = order[child], order[parent[child]]
    edge_of = np.full(count, NO_INDEX)
    edge_of[child] = np.arange(len(child))
    above = edge_of[parent[child]]  # the edge that the parent's own parent is reached by; NO_INDEX at the root
    up: list[Int] = []
    down: list[Int] = []
    size = share * count / max(count - 1, 1) / pieces
    for piece in range(pieces):
        for way, src, dst in ((up, low, high), (down, high, low)):
            ids = builder.add(
                TRANSFER,
                groups * len(child),
                work=size,
                purpose=purpose,
                src=members[:, src].ravel(),
                dst=members[:, dst].ravel(),
                channel=2 * channel + (way is down),
            ).reshape(groups, -1)
            way.append(ids)
            if piece:
                builder.edges(way[-2].ravel(), ids.ravel())
            else:
                builder.edges(ready[:, src].ravel(), ids.ravel())
                builder.posts(ready[:, dst].ravel(), ids.ravel())
        inner, roots = above != NO_INDEX, np.flatnonzero(above == NO_INDEX)
        builder.edges(up[-1][:, inner].ravel(), up[-1][:, above[inner]].ravel())
        builder.edges(down[-1][:, above[inner]].ravel(), down[-1][:, inner].ravel())
        top = builder.join(up[-1][:, roots])
        builder.edges(np.repeat(top, len(roots)), down[-1][:, roots].ravel())
    done = builder.join(ready).repeat(count).reshape(groups, count)
    marks = builder.add(MARK, groups * count, after=[done.ravel()]).reshape(groups, count)
    builder.edges(down[-1].ravel(), marks[:, low].ravel())
    builder.edges(down[-1].ravel(), marks[:, high].ravel())
    return marks


def exchange(
    builder: GraphBuilder,
    groups: Int,
    host_of_rank: Int,
    ready: Int,
    size: float,
    batch: Int | int,
    purpose: int,
    *,
    by_receiver: bool = False,
) -> Int:
    """All-to-all in each group: every member sends `size` bytes to each other one outside its host.

    Args:
        builder: takes the operations.
        groups: (groups, members) ranks.
        host_of_rank: (ranks,).
        ready: (groups, members) operations after which each takes part.
        size: of each message.
        batch: whose length the sizes scale with, one or (groups, members).
        purpose: what it serves.
        by_receiver: sizes scale with the receiver's, not the sender's.

    Returns:
        (groups, members) marks: has sent and received everything.
    """
    count = groups.shape[1]
    all_ready = builder.join(ready)
    done = builder.add(MARK, groups.size, after=[np.repeat(all_ready, count)]).reshape(groups.shape)
    batches = np.broadcast_to(np.asarray(batch), groups.shape)
    for hop in range(1, count):
        src, dst = groups.ravel(), np.roll(groups, -hop, axis=1).ravel()
        out = host_of_rank[src] != host_of_rank[dst]
        ids = builder.add(
            TRANSFER,
            int(out.sum()),
            after=[ready.ravel()[out]],
            work=size,
            purpose=purpose,
            src=src[out],
            dst=dst[out],
            batch=(np.roll(batches, -hop, axis=1) if by_receiver else batches).ravel()[out],
        )
        builder.posts(np.roll(ready, -hop, axis=1).ravel()[out], ids)
        builder.edges(ids, done.ravel()[out])
        builder.edges(ids, np.roll(done, -hop, axis=1).ravel()[out])
    return done
