"""The mutations, each addressed by module and name: a constant given another value, or a function another answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """One rule broken.

    Attributes:
        module: dotted name of the module.
        name: a constant or a function of it.
        becomes: an expression: the constant's value, or what the function returns (its arguments may be used).
        breaks: the rule, in words.
    """

    module: str
    name: str
    becomes: str
    breaks: str


MUTATIONS = (
    Mutation("strategy.traffic.edge_concurrency", "together", "np.zeros(len(a))", "members act together"),
    Mutation("strategy.candidates.pipelines", "_opened", "np.ones(len(part), np.bool_)", "a circle is opened once"),
    Mutation("strategy.candidates.splits", "_steps", "None", "who sends in step is a tensor group"),
    Mutation("strategy.candidates.labelings", "measure_timing", "{}", "roles are told apart by when they act"),
    Mutation("strategy.placement", "seats", "{}", "the inventory says who shares a host"),
    Mutation("diagnose.links.slow_links", "slow_links", "[]", "slow links are looked for"),
    Mutation("diagnose.links.slow_links", "suspects", "[(ordered[0], 1.0)]", "what is nearly as likely is a suspect"),
    Mutation("diagnose.model.links", "gains", "np.zeros((len(value), options.grid))", "streams tell links apart"),
    Mutation("diagnose.compute.stragglers", "HEALTHY_PERCENTILE", "5", "late is later than healthy peers ever are"),
    Mutation("diagnose.compute.culprits", "pursue", "[]", "who computes longer is looked for"),
    Mutation("diagnose.compute.culprits", "_predecessors", "NOBODY_WAITS", "waiting ranks are no cause"),
    Mutation("diagnose.compute.culprits", "share_of_chain", "np.ones(len(endpoints))", "waiting stages are no cause"),
    Mutation("diagnose.compute.stage_compute", "READY_SHARE", "1.0", "an uneven pipeline is an imbalance"),
    Mutation("diagnose.compute.load_imbalance", "waiting_ratio", "NO_WAITING", "a changing last rank is uneven load"),
    Mutation("diagnose.pace_intervals", "SHORTEST", "40", "a period of slowness has at least three iterations"),
    Mutation("diagnose.pace_intervals", "_chance", "0.0", "a difference must be beyond chance"),
    Mutation("diagnose.hangs.hang_detection", "SILENT_ITERATIONS", "1000.0", "three silent iterations are a hang"),
    Mutation("diagnose.hangs.hang_detection", "_mute", "endpoints", "who fell silent first is the suspect"),
    Mutation("diagnose.compute.stage_compute", "STANDS_OUT", "10.0", "a stage a tenth heavier stands out"),
    Mutation("diagnose.links.contention", "reclassify_contention", "tuple(findings)", "a shared link is contention"),
)  # fmt: skip

# Small cases that between them need the rules of each room; every mutation of the room is tried on all of them.
CASES = {
    "strategy": (
        "layouts-013",
        "layouts-018",
        "layouts-020",
        "layouts-027",
        "layouts-030",
        "layouts-043",
        "layouts-063",
        "layouts-092",
        "events-031",
    ),
    "diagnose": (
        "faults-008",
        "faults-011",
        "faults-012",
        "faults-014",
        "faults-020",
        "faults-027",
        "faults-028",
        "faults-029",
        "faults-034",
        "faults-044",
        "faults-051",
        "faults-071",
        "faults-100",
        "faults-101",
        "faults-103",
        "clean-027",
        "clean-071",
    ),
}
