"""All constants of the layout model, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class GridPenalties:
    """Log-probability of each deviation from a grid; `most` deviations of a kind count, since they share a cause.

    Attributes:
        across_stages: an edge of a data-parallel collective links two stages.
        outside_chains: an endpoint of a pipelined job in no chain of the commonest length.
        one_way: an endpoint between stages that no partner answers; activations come back as gradients.
        odd_group: an endpoint whose group differs from the commonest size, or is missing.
        embedding_inside: an embedding edge that does not link a first and a last stage.
        no_gradients, no_gradients_in_pipeline: no class reduces gradients; a pipeline's may stay inside hosts.
        reduced_in_steps: no class spans all ranks that share dense gradients.
        uneven_span: a class spans a number of ranks that does not divide that of those that share gradients.
        never_reduced: no gradients link the ranks of a context or expert group, which hold the same dense parameters;
            sums on the pairs that exchange contexts may be of one class with these.
        gathered_in_part: parameters are gathered by fewer ranks than sum their gradients.
        reduced_in_part: contexts without experts, but a class reduces over fewer ranks than share dense gradients.
        no_expert_gradients: experts, but only one class reduces.
        answered_later: an edge of gradients that is answered in another part of the iteration, as only stages are.
        mixed_lengths: activations vary from iteration to iteration and keys of contexts do not, or the other way round;
            both carry the same sequences.
        gradients_vary: a class that reduces gradients, as many as there are parameters, varies from iteration to
            iteration.
        unbalanced: an endpoint that sends other bytes of gradients than it receives.
        most: deviations counted.
        later_share: directions of a pair that pause for longer than this share of the iteration between one another do
            not take part in one collective.
    """

    across_stages: float = -4.0
    outside_chains: float = -3.5
    one_way: float = -1.5
    odd_group: float = -3.0
    embedding_inside: float = -3.5
    no_gradients: float = -3.0
    no_gradients_in_pipeline: float = -1.0
    reduced_in_steps: float = -3.0
    uneven_span: float = -3.0
    never_reduced: float = -1.0
    gathered_in_part: float = -3.0
    reduced_in_part: float = -4.5
    no_expert_gradients: float = -2.5
    answered_later: float = -1.5
    mixed_lengths: float = -3.0
    gradients_vary: float = -3.0
    unbalanced: float = -1.5
    most: int = 4
    later_share: float = 0.05


@dataclass(frozen=True, slots=True)
class StepOptions:
    """How far endpoints that compute in step begin apart, in decades of the distance of replicas.

    Attributes:
        close_decades: members of a tensor group lie nearer than this.
        spread_decades: deviation of distances of one kind in a job.
        apart_spread_decades: deviation of the usual distance of replicas on one host from that of other replicas.
        shared_delay, shared_delay_decades: how often replicas on one host lie nearer than others, because a fault of
            the fabric moves all of a host alike, and by how much at most.
        scale_step_decades: step in which the scales of distances are integrated over.
        outliers, outlier_decades: share of pairs that are neither, spread evenly over so many decades.
        cells, independent_cells: cells looked at, and how many of them count as independent.
        reference_pairs: pairs of replicas that are enough to estimate their distance.
    """

    close_decades: float = -0.4
    spread_decades: float = 0.3
    apart_spread_decades: float = 0.1
    shared_delay: float = 0.02
    shared_delay_decades: float = -1.5
    scale_step_decades: float = 0.1
    outliers: float = 0.05
    outlier_decades: float = 6.0
    cells: int = 24
    independent_cells: float = 3.0
    reference_pairs: int = 256


@dataclass(frozen=True, slots=True)
class LayoutOptions:
    """Constants of the layout model; probabilities unless said, log for those that are negative.

    Attributes:
        penalties, step: of the grid, and of who sends in step.
        feature_weight: classes of a job depend on one another, so that their sum says too much.
        one_edge_weight: share of it that a single edge has; with as many edges as endpoints it is whole.
        beam: labelings kept; a job has six in the median that are not out of the question.
        pipelines: choices of point-to-point edges that are followed.
        undecided: nats by which a role may fall short of the best one and still be tried.
        kind_prior: contexts, experts and a shared embedding, each: fewer jobs have them than not.
        program_priors: programs that few jobs run: tensor groups across hosts, parameters gathered ahead (ZeRO-1 with
            overlap), trees, direct exchange, FSDP.
        hybrid_sharding_prior: FSDP next to other programs of data parallelism, which only hybrid sharding has.
        other_prior: a class that no role explains.
        odd_size_prior: contexts or experts of a number that is no power of two.
        repeated_kind_prior: a second class of an exchange that a program has once a layer.
        broad_share: without a pipeline, passes last until the last class begins that has so many edges an endpoint;
            what few endpoints do says nothing of all.
        together_share: classes that end within this share of the iteration of one another end together: the jitter of
            ranks is of this size.
        in_phase_share: without stages all gradient groups begin within this share of the iteration.
        decisive: a size is answered from this posterior on.
        listed: alternatives cover this much of the posterior.
        negligible: nats under the best from which on a labeling no longer counts.
        no_grid: that groups which divide no job are right all the same.
        none_of_these: log-prior that a job's collectives are none of the known ones, or its iterations or endpoints are
            not those of a job. One in a hundred simulated jobs that are cut right scores less.
        hidden_programs: what traffic that was not recognized is: a pipeline whose chains are all that it ties together,
            a shorter one next to other exchanges, contexts, experts, or something that divides no ranks. Counted over
            12 simulated jobs.
        layout_changes: that a job runs with certain other sizes than in the window before.
        unexplained_weight: times the share of edges without a role: the program is none of these.
        convention: what never leaves a host is tensor parallelism, where nothing moves (the contract for layouts).
        whole_host: that it is, where replicas would drift apart but the feed does not show when endpoints send. It is
            in 90 of 173 simulated jobs with stages.
        ranks_behind_nic: as many GPUs share a NIC at most.
        shown_behind_nic: as many messages at once as ranks in step share a NIC.
        most_compared: endpoints of one cell compared; their distances grow with the square.
        clock_floor_ns: resolution of hardware timestamps, under which distances are all alike.
    """

    step: StepOptions = field(default_factory=StepOptions)
    penalties: GridPenalties = field(default_factory=GridPenalties)
    feature_weight: float = 0.8
    one_edge_weight: float = 0.35
    beam: int = 64
    pipelines: int = 12
    undecided: float = 6.0
    kind_prior: float = -0.5
    program_priors: Mapping[str, float] = field(
        default_factory=lambda: {"tp": -5.0, "param_gather": -2.0, "tree": -1.9, "direct": -3.0, "fsdp": -1.0}
    )
    decisive: float = 0.85
    listed: float = 0.99
    negligible: float = 9.0
    no_grid: float = 0.02
    none_of_these: float = -6.0
    hidden_programs: Mapping[str, float] = field(
        default_factory=lambda: {"pp": 0.5, "shorter": 0.2, "cp": 0.1, "ep": 0.1, "none": 0.1}
    )
    layout_changes: float = 0.02
    unexplained_weight: float = 1.5
    hybrid_sharding_prior: float = -2.0
    other_prior: float = -4.0
    odd_size_prior: float = -3.0
    repeated_kind_prior: float = -3.0
    broad_share: float = 0.4
    together_share: float = 0.03
    in_phase_share: float = 0.05
    convention: float = 0.97
    whole_host: float = 0.5
    ranks_behind_nic: int = 8
    shown_behind_nic: float = 0.95
    most_compared: int = 256
    clock_floor_ns: float = 200.0
