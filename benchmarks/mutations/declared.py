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
    Mutation("strategy.edges", "SAME_COUNT", "0.01", "streams of very different counts are never one"),
    Mutation("strategy.edges", "PARALLEL", "0.0", "streams side by side are told from those one after the other"),
    Mutation("strategy.edges", "UNANIMOUS", "1.5", "a size counts where most iterations agree on it"),
    Mutation("strategy.edges", "_agreed", "np.zeros(len(acts), bool)", "what acts in most iterations is believed"),
    Mutation("strategy.chains", "pipelines", "[]", "pairs that take turns are a pipeline"),
    Mutation("strategy.chains", "_opened", "np.ones(len(part), np.bool_)", "a circle of stages is opened once"),
    Mutation("strategy.collectives", "_kind", '"dp"', "collectives are told apart by where they lie in the iteration"),
    Mutation("strategy.collectives", "_crossed", "False", "groups inside gradient groups are experts or contexts"),
    Mutation("strategy.parts", "_in_each_third", "False", "what goes on through all passes is no gradient"),
    Mutation("strategy.grid", "_shared", "1", "a NIC may serve several GPUs"),
    Mutation("strategy.grid", "_inside_hosts", "None", "what never leaves a host is tensor parallelism"),
    Mutation("strategy.placement", "seats", "{}", "the inventory says who shares a host"),
    Mutation("strategy.together", "together", "np.zeros(len(a))", "members of a collective act together"),
    Mutation("diagnose.links", "SLOW_SHARE", "0.1", "a link at less than 60 % of its rate is slow"),
    Mutation("diagnose.links", "SLOW_AMONG_PEERS", "0.01", "a slow link is slow among its peers"),
    Mutation("diagnose.links", "HOLDS", "1.5", "a link is to blame that most slow pairs share"),
    Mutation("diagnose.links", "slow_link", "None", "slow links are looked for"),
    Mutation("diagnose.shared_links", "shared_links", "None", "cables that slow pairs share are looked for"),
    Mutation("diagnose.stragglers", "HEALTHY_PERCENTILE", "5", "late is later than healthy peers ever are"),
    Mutation("diagnose.stragglers", "without_predecessors", "late", "who waits for a late rank in a ring is no cause"),
    Mutation("diagnose.stragglers", "without_waiting_stages", "late", "a stage that waits for another is no cause"),
    Mutation("diagnose.diagnosis", "_everybody", "False", "where all compute longer nobody is the cause"),
    Mutation("diagnose.diagnosis", "_uneven", "None", "a persistent difference of stages is an imbalance"),
    Mutation("diagnose.load", "waiting_ratio", "0.0", "waiting for a last one that changes is uneven load"),
    Mutation("diagnose.periods", "SHORTEST", "40", "a period of slowness has at least three iterations"),
    Mutation("diagnose.periods", "_no_chance", "True", "a difference must be beyond chance"),
    Mutation("diagnose.hangs", "SILENT_ITERATIONS", "1000.0", "a job silent for three iterations hangs"),
    Mutation("diagnose.hangs", "_mute", "endpoints", "who fell silent first is the suspect"),
    Mutation("diagnose.stages", "STANDS_OUT", "10.0", "a stage a tenth heavier stands out"),
    Mutation("diagnose.contention", "contended", "tuple(findings)", "another job on a shared link is contention"),
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
