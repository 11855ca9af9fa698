"""A job that samples show, as its diagnosis takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.cluster.inventory import Link
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.endpoint_index import group_numbers
from diagnose.job_view import JobView
from reconstruct.sampled.folding.folded_samples import Estimate, Points

DP, PP = ROLES.index("dp"), ROLES.index("pp")


@dataclass(frozen=True, slots=True)
class SampledView:
    """A job with its samples instead of operations.

    Attributes:
        job: endpoints, edges, layout and fabric; its operations are empty.
        points: samples of each connection.
        src, dst, role: (c,) ends of each connection as address codes, index into ROLES.
        quantum_bytes: (c,) bytes each moves in an iteration.
        whole: whether every pair of the job's endpoints is seen; else who waits for whom is not known.
        cables: between switches, as far as the inventory names them.
        over: (c, cables) which of them each connection was seen to pass, by interface indices.
    """

    job: JobView
    points: Sequence[Points]
    src: Int
    dst: Int
    role: Int
    quantum_bytes: Float
    whole: bool
    cables: tuple[Link, ...]
    over: Bool

    def of(self, members: Int) -> list[Points]:
        """Samples of some connections."""
        return [self.points[int(m)] for m in members]

    def rings(self) -> list[Int]:
        """Connections of each gradient ring: those of the role that share endpoints, two at least."""
        own = np.flatnonzero(self.role == DP)
        if not len(own):
            return []
        size = len(self.job.fabric.addresses)
        graph = coo_array((np.ones(len(own)), (self.src[own], self.dst[own])), shape=(size, size))
        label = connected_components(graph, directed=False)[1][self.src[own]]
        return [own[label == value] for value in np.unique(label) if (label == value).sum() >= 2]

    def computing(self) -> Int:
        """(addresses,) number of the endpoints that compute together, of the first of them; -1 outside the job."""
        number = np.full(len(self.job.fabric.addresses), -1, np.int64)
        own = self.job.endpoints
        together = group_numbers(own, self.job.groups.get("tp", ()))
        number[own] = np.where(together >= 0, together + len(number), own)
        return number


@dataclass(frozen=True, slots=True)
class IterationComparison:
    """Iterations that are slow, and those of the job at its best."""

    now: Int
    before: Int


def later(now: Estimate, before: Estimate) -> Estimate:
    """How much later, with its standard error."""
    return Estimate(now.value - before.value, float(np.hypot(now.error, before.error)))
