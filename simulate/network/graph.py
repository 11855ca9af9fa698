"""The operation graph of a simulation: what is computed or sent, over which resources, and what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from datamodel.reconstructed.streams import Float, Int

Codes = npt.NDArray[np.int32]

# What an operation is. A mark takes no time; a setting changes the capacity of a resource when it is reached.
COMPUTE, TRANSFER, MARK, SETTING = range(4)
# What a transfer or a computation serves, an index into PURPOSES.
PURPOSES = (
    "forward",
    "backward",
    "optimizer",
    "pipeline",
    "gradient",
    "parameter",
    "expert_gradient",
    "token",
    "key",
    "tensor",
    "embedding",
    "checkpoint",
    "data",
    "other",
    "state",
    "serving",
    "rollout",
    "weight_sync",
    "management",
)
FORWARD, BACKWARD, OPTIMIZER, PIPELINE, GRADIENT, PARAMETER, EXPERT_GRADIENT, TOKEN, KEY, TENSOR, EMBEDDING = range(11)
CHECKPOINT, DATA, OTHER, STATE = 11, 12, 13, 14
SERVING, ROLLOUT, WEIGHT_SYNC, MANAGEMENT = 15, 16, 17, 18
NO_INDEX = -1


@dataclass(frozen=True, slots=True)
class Graph:
    """Operations in columns; (n,) each unless said otherwise.

    Attributes:
        kind: COMPUTE, TRANSFER, MARK or SETTING.
        purpose: index into PURPOSES.
        work: nanoseconds of compute at capacity 1, bytes of a transfer, the capacity that a setting sets; 0 of a mark.
        lag_ns: time it waits after all that it depends on.
        src, dst: cell that computes (both), rank that sends and rank that receives; NO_INDEX where there is none. Of a
            setting `src` is the resource.
        channel: which of the connections of (src, dst, purpose).
        batch: which of the iteration's micro-batch lengths its work scales with; NO_INDEX: none.
        posted: of a transfer the operation after which the receiver has posted its buffer; NO_INDEX: when it begins.
        before, after: (edges,) operation pairs: `after` cannot begin until `before` has ended.
    """

    kind: Codes
    purpose: Codes
    work: Float
    lag_ns: Float
    src: Codes
    dst: Codes
    channel: Codes
    batch: Codes
    posted: Codes
    before: Codes
    after: Codes

    def __len__(self) -> int:
        return len(self.kind)


_COLUMNS = ("kind", "purpose", "work", "lag_ns", "src", "dst", "channel", "batch")
Parts = dict[str, list[npt.NDArray[np.generic]]]


@dataclass(slots=True)
class GraphBuilder:
    """Takes in operations, arrays of them at a time, and hands out their numbers."""

    _parts: Parts = field(
        default_factory=lambda: {name: [] for name in (*_COLUMNS, "before", "after", "posts", "waits")}
    )
    _count: int = 0

    def add(
        self,
        kind: int,
        count: int,
        *,
        after: Sequence[Int] = (),
        work: npt.ArrayLike = 0.0,
        lag_ns: npt.ArrayLike = 0.0,
        purpose: int = OTHER,
        src: npt.ArrayLike = NO_INDEX,
        dst: npt.ArrayLike = NO_INDEX,
        channel: npt.ArrayLike = 0,
        batch: npt.ArrayLike = NO_INDEX,
    ) -> Int:
        """`count` operations; (count,) their numbers.

        Args:
            kind: of all of them.
            count: how many.
            after: arrays of (count,) operations that each waits for; NO_INDEX where it does not.
            work: see `Graph`; one for all or (count,), as all below but the purpose.
            lag_ns: see `Graph`.
            purpose: of all of them.
            src: see `Graph`.
            dst: see `Graph`.
            channel: see `Graph`.
            batch: see `Graph`.
        """
        ids = np.arange(self._count, self._count + count)
        self._count += count
        given = (kind, purpose, work, lag_ns, src, dst, channel, batch)
        for name, values in zip(_COLUMNS, given, strict=True):
            dtype = np.float64 if name in {"work", "lag_ns"} else np.int32
            self._parts[name].append(np.broadcast_to(np.asarray(values, dtype), (count,)))
        for array in after:
            self.edges(array, ids)
        return ids

    def edges(self, before: Int, after: Int) -> None:
        """Each of `after` waits for its one of `before`; NO_INDEX on either side is left out."""
        keep = (before != NO_INDEX) & (after != NO_INDEX)
        self._parts["before"].append(before[keep].astype(np.int32))
        self._parts["after"].append(after[keep].astype(np.int32))

    def posts(self, before: Int, after: Int) -> None:
        """As `edges`, of transfers `after` whose receivers post their buffers when `before` has ended."""
        self.edges(before, after)
        self._parts["posts"].append(before.astype(np.int32))
        self._parts["waits"].append(after.astype(np.int32))

    def join(self, members: Int) -> Int:
        """(groups, members) operations; (groups,) marks reached when all members of a group have ended."""
        marks = self.add(MARK, len(members))
        self.edges(members.ravel(), np.repeat(marks, members.shape[1]))
        return marks

    def graph(self) -> Graph:
        """All that was taken in."""
        none = np.zeros(0, np.int32)
        columns = {name: np.concatenate([*parts, none]) for name, parts in self._parts.items()}
        posts, waits = columns.pop("posts"), columns.pop("waits")
        posted = np.full(self._count, NO_INDEX, np.int32)
        posted[waits] = posts
        return Graph(**columns, posted=posted)


def successors(graph_size: int, before: Codes, after: Codes) -> tuple[Int, Codes, Codes]:
    """Sort edges by operation: (n + 1,) bounds into the list of waiting operations; (n,) how many each waits for."""
    order = np.argsort(before, kind="stable")
    bounds = np.zeros(graph_size + 1, np.int64)
    np.cumsum(np.bincount(before, minlength=graph_size), out=bounds[1:])
    return bounds, after[order], np.bincount(after, minlength=graph_size).astype(np.int32)
