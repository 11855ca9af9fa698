"""Every number of the model of blame, with its reason in docs/diagnosis.md."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What the model takes for granted.

    Attributes:
        degrees: of freedom of Student's t, by which measurements scatter.
        outlier_ratio, outlier_folds: share of measurements that are anything at all, and over how many e-folds.
        floor_ratio: no rate is known better.
        alike_ratio: sending and receiving sides of a slow NIC are as slow to this share.
        peer_floor_ratio: nor do peers go alike to less: their paths differ.
        victim_share: of what an iteration lost, by which the time of a stream that is only kept waiting changes.
        victim_most: at most by so much of its logarithm.
        counted: so many iterations at most make a median better known: those of one period are not independent.
        temper: what a stream's iterations count for together.
        missing_ratio: chance that a stream does not show the slow NIC that it passes; of a cable.
        cable_missing_ratio: the same of a cable.
        misfit_ratio, cable_misfit_ratio: by which share of its logarithm a stream's slowdown differs from the link's.
        misfit_floor: at least by so much.
        grid, least_size, most_size: sizes of a slowdown that are tried, from 1 + least to 1 + most.
        one_way_penalty, both_ways_penalty: of a link that is slow in one direction, and in both.
        nic_odds: so many times as likely as a cable an endpoint's own link is slow: it has a host at one end.
        sure: tempered log-likelihood ratio from which a link is told of an interval that has a past.
        sure_among_peers: the same where streams are compared with their peers.
        sure_scattered: the same of single slow iterations.
        least_share: of what an iteration lost that its own streams must have lost.
        rival_odds: hypotheses that are at most so many times less likely than the best are suspects ...
        rival_share: if this share of what the best one's streams lost is lost in theirs.
        notice_weight: of notifications that tell on which side of a stream bytes wait.
        notice_ratio: so many times as many as usual are more; so many times fewer lost packets are far fewer.
        lossy_ratio: so many packets sent again hold up go-back-N transports and halve a TCP window.
        fewest_lost: a stream that would have lost so many packets, and lost far fewer, passes no link that loses them.
        unknown_cables: of a switch, where the inventory does not list them; where it lists no switch, this or 2, 4,
            8 ... times as many.
        slow_sigmas: a stream is slow beyond doubt by so many standard errors.
        slowest: so many of the slowest streams are compared with those of other ends.
        fewest_peers: to compare a stream with.
        telling_ratio, telling_volume: a stream that was never as fast as this share of the fastest tells of links only
            if it carries this share of what quick ones do.
        released_ns: a send had waited for its receiver that said so little before that it is ready.
        gated_least, gated_most: ready messages count where such a share of them releases a send that waited for it.
        event_early_ns: a receiver is ready again a moment before the end of what it got is recorded.
        own_floor_ratio: no own time is known better, as a share of the iteration.
        own_least_ratio: what is added to own times, so that the shift of next to none is none.
        own_victim_share: of what an iteration lost, by which the own time of a cell that only waits changes.
        own_missing_ratio: chance that a cell does not show that it computes longer.
        behind_missing_ratio: chance that who waits for a late cell does not look late itself.
        own_misfit_ratio: by which share of its logarithm a cell's own time differs from the hypothesis.
        group_penalty: of a host, a stage or everybody in place of a cell.
        group_least_share: of what an iteration lost that three quarters of a group's cells must have lost, each.
        quarter: percentile of a group's cells that stands for what the group loses.
        fewest_uneven: cells of a stage, of which the mean shows what even work would take.
        follows_least: correlation from which iteration times follow the cell that takes longest, and own times tokens.
        uneven_tokens_least: share by which what experts get changes from iteration to iteration.
        second_penalty: of a second cause, for the share of the lost time that a hypothesis leaves unexplained.
        most_culprits: what is late in more places at once has a cause that is in none of them.
        most_confidence: measurements of one window make nothing surer.
        recurs_ratio: what is sent in this share of the iterations is part of them.
        whole_ratio: a message is whole with this share of the fewest bytes that it ever had.
        due_together_ratio: what is due within this share of an iteration of the first missing step is missing with it.
        turn_most: in a hang it is the turn of at most this share of the cells.
        everybody_most: everybody computes at most so many times as long; beyond that, all wait for something.
    """

    degrees: float = 4.0
    outlier_ratio: float = 0.03
    outlier_folds: float = 6.0
    floor_ratio: float = 0.01
    alike_ratio: float = 0.06
    peer_floor_ratio: float = 0.15
    victim_share: float = 0.03
    victim_most: float = 0.5
    counted: int = 6
    temper: float = 2.5
    missing_ratio: float = 0.003
    cable_missing_ratio: float = 0.01
    misfit_ratio: float = 0.10
    cable_misfit_ratio: float = 0.10
    misfit_floor: float = 0.03
    grid: int = 48
    least_size: float = 0.03
    most_size: float = 80.0
    one_way_penalty: float = 1.0
    both_ways_penalty: float = 0.5
    nic_odds: float = 4.0
    sure: float = 8.0
    sure_among_peers: float = 12.0
    sure_scattered: float = 15.0
    least_share: float = 0.3
    rival_odds: float = 20.0
    rival_share: float = 0.5
    notice_weight: float = 3.0
    notice_ratio: float = 3.0
    lossy_ratio: float = 0.001
    fewest_lost: int = 20
    unknown_cables: int = 4
    slow_sigmas: float = 3.0
    slowest: int = 64
    fewest_peers: int = 4
    telling_ratio: float = 0.02
    telling_volume: float = 0.25
    released_ns: int = 150_000
    gated_least: float = 0.1
    gated_most: float = 0.995
    event_early_ns: int = 20_000
    own_floor_ratio: float = 0.002
    own_least_ratio: float = 0.02
    own_victim_share: float = 0.15
    own_missing_ratio: float = 0.10
    behind_missing_ratio: float = 0.5
    own_misfit_ratio: float = 0.10
    group_penalty: float = 1.0
    group_least_share: float = 0.6
    quarter: int = 25
    fewest_uneven: int = 3
    follows_least: float = 0.4
    uneven_tokens_least: float = 0.02
    second_penalty: float = 12.0
    most_culprits: int = 2
    most_confidence: float = 0.95
    recurs_ratio: float = 0.6
    whole_ratio: float = 0.9
    due_together_ratio: float = 0.002
    turn_most: float = 0.5
    everybody_most: float = 3.0


MODEL = ModelOptions()
