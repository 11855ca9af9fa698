"""A job's own times -> who computes longer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Int
from diagnose.compute.send_delays import assign_peer_classes
from diagnose.job_view import JobView
from diagnose.model.compute import ComparedIterations, ComputeHypothesis, Explanation, Grown, grown, pursue
from diagnose.model.own_time import OwnTime
from diagnose.options import MODEL


@dataclass(frozen=True, slots=True)
class Culprits:
    """Who computes longer.

    Attributes:
        grown: own time of all cells.
        stages: (cells,) stage of each.
        named: the most likely first; empty where nobody does beyond doubt.
    """

    grown: Grown
    stages: Int
    named: tuple[Explanation, ...]

    def stage(self, hypothesis: ComputeHypothesis) -> int:
        """The stage of a hypothesis that is one."""
        return int(self.stages[np.flatnonzero(hypothesis.own)[0]])


def culprits(job: JobView, own: OwnTime, compared: ComparedIterations, sure: float) -> Culprits:
    """Those whose own time grew, or is longer than that of cells of the same stage and as many neighbours.

    In a tree leaves, branches and the root have turns of their own, however long they compute.

    Args:
        job: theirs.
        own: own time of its cells.
        compared: which iterations.
        sure: tempered log-likelihood ratio from which an explanation counts.
    """
    first = np.unique(own.cell, return_index=True)[1]
    stages = job.stages[first]
    place = stages if len(compared.baseline) else assign_peer_classes(job.operations, job.endpoints, job.stages)[first]
    hosts = [job.fabric.host.get(e, f"of {e} alone") for e in job.endpoints[first].tolist()]
    found = grown(own, compared, place, MODEL)
    return Culprits(found, stages, tuple(pursue(found, hosts, stages, compared, sure, MODEL)))
