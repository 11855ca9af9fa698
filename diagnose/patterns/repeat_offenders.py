"""Hosts that are late in job after job: an exact permutation test within each job and role, over all jobs of a fleet.

In each job a host has one rank among the hosts of its role. If nothing is wrong with any host, all orders of a role are
equally likely, whatever the noise of the job and however slow the role: only ranks count, and only within the role. A
host's score is the sum of -ln(rank / hosts of the role) over its jobs (Fisher, 1932). Its distribution over all
permutations is computed, not sampled: scores are whole numbers, and distributions of sums are products of transforms.

Healthy hosts are not quite equal: their clocks differ by up to about a percent, for good. A host is therefore ranked as
if it were earlier by TOLERATED_RATIO, all others as they are. That makes ranks of hosts within the tolerance worse than
chance would, so that the probability holds for them too.

Hosts of one job depend on one another: where one is early, another is late. The share of false discoveries is
therefore held by the rule of Benjamini and Yekutieli (2001), which holds under any dependence; that of Benjamini and
Hochberg does not. A job is one piece of evidence, however long it runs: within a job a host keeps its place, and what
the place costs comes back in every window.

Ranks of small roles prove little. The order of suspicion therefore weighs by how much a host is late, against the
spread of its job, where one job counts for MAX_SIGMAS at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.medians import MAD_TO_SIGMA, group_medians, medians_of_own_group

MAX_FALSE_DISCOVERY_SHARE = 0.05
TOLERATED_RATIO = 0.01
MAX_SIGMAS = 3.0
# One step of a score is an e-fold divided by this number: ranks 1 and 2 of 16 are 11 steps apart.
STEPS_PER_FOLD = 16
MIN_PROBABILITY = 1e-12
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class HostLateness:
    """How late hosts were in their jobs: one row a host and job.

    Attributes:
        host: (n,) number of the host, from 0.
        job: (n,) number of the job.
        role: (n,) role of the host in the job: only hosts of one role do the same work.
        late_ratio: (n,) how much longer the host computes than the median of its role, as a share of that.
    """

    host: Int
    job: Int
    role: Int
    late_ratio: Float


@dataclass(frozen=True, slots=True)
class HostRanking:
    """All hosts that had peers in some job, the most suspicious first.

    Attributes:
        host: (hosts,) numbers as in `HostLateness`.
        jobs: (hosts,) how many jobs count.
        late_jobs: (hosts,) in how many of them it was late by more than TOLERATED_RATIO.
        late_ratio: (hosts,) median over these jobs.
        sigmas: (hosts,) lateness in standard deviations, summed over jobs, over the root of their number.
        probability: (hosts,) chance of such ranks if nothing is wrong with any host; 1 for usual ones.
        is_offender: (hosts,) whether it is late beyond chance; at most 5 % of these are expected to be healthy.
    """

    host: Int
    jobs: Int
    late_jobs: Int
    late_ratio: Float
    sigmas: Float
    probability: Float
    is_offender: Bool


def rank_hosts(seen: HostLateness) -> HostRanking:
    """Rank hosts by how late they are in all their jobs; equally late peers count as later.

    Time: O(n log n) and one transform for each host of a high score.
    """
    group = _numbered(seen.job, seen.role)
    peers = np.bincount(group)[group] if len(group) else np.zeros(0, np.int64)
    counted = np.flatnonzero(peers > 1)
    counted = counted[np.lexsort((seen.job[counted], seen.host[counted]))]  # sums do not depend on the order of rows
    role, size, late = group[counted], peers[counted], seen.late_ratio[counted]
    hosts, own = np.unique(seen.host[counted], return_inverse=True)
    count = len(hosts)
    jobs = np.bincount(own, minlength=count)
    sigmas = np.bincount(own, _sigmas(seen.job[counted], late), count) / np.sqrt(jobs)
    probability = _probabilities(own, size, _scores(_ranks(role, late), size), count)
    order = np.lexsort((hosts, -sigmas))
    return HostRanking(
        host=hosts[order],
        jobs=jobs[order],
        late_jobs=np.bincount(own[late > TOLERATED_RATIO], minlength=count)[order],
        late_ratio=group_medians(late, own, count)[order],
        sigmas=sigmas[order],
        probability=probability[order],
        is_offender=select_discoveries(probability)[order],
    )


def select_discoveries(probability: Float) -> Bool:
    """(n,) which hypotheses are rejected with a false discovery rate of at most 5 %, whatever their dependence."""
    count = len(probability)
    order = np.argsort(probability, kind="stable")
    place = np.arange(1, count + 1)
    limit = MAX_FALSE_DISCOVERY_SHARE * place / (count * (1 / place).sum())
    below = np.flatnonzero(probability[order] <= limit)
    found = np.zeros(count, np.bool_)
    found[order[: below[-1] + 1 if len(below) else 0]] = True
    return found


def _numbered(job: Int, role: Int) -> Int:
    """(n,) number of each role of each job."""
    pair = job * (int(role.max(initial=0)) + 1) + role
    return np.asarray(np.unique(pair, return_inverse=True)[1].ravel(), np.int64)


def _sigmas(job: Int, late: Float) -> Float:
    """(n,) lateness beyond the tolerance over the robust spread of the job's hosts, within MAX_SIGMAS."""
    number = np.unique(job, return_inverse=True)[1]
    spread = MAD_TO_SIGMA * medians_of_own_group(np.abs(late), number)
    beyond = late - TOLERATED_RATIO
    known = np.divide(beyond, spread, out=np.sign(beyond) * MAX_SIGMAS, where=spread > 0)
    return np.clip(known, -MAX_SIGMAS, MAX_SIGMAS)


def _ranks(group: Int, late: Float) -> Int:
    """(n,) rank in the group of a host that is earlier by the tolerance: 1 for one that is still the latest."""
    order = np.lexsort((late, group))
    span = float(np.ptp(late)) + 2 * TOLERATED_RATIO if len(late) else 1.0
    place = group * span + late - late.min(initial=0.0)
    ranked = place[order]
    not_later = np.searchsorted(ranked, place - TOLERATED_RATIO, side="left")
    return np.asarray(np.cumsum(np.bincount(group))[group] - not_later)


def _scores(rank: Int, size: Int) -> Int:
    """(n,) steps of -ln(rank / size)."""
    return np.asarray(np.rint(-np.log(rank / size) * STEPS_PER_FOLD), np.int64)


def _probabilities(own: Int, size: Int, score: Int, count: int) -> Float:
    """(hosts,) chance of a sum of scores as high; 1 where it is within a standard deviation of its mean.

    Nothing can follow from such a sum, and most hosts have one.
    """
    sizes, kind = np.unique(size, return_inverse=True)
    steps = [_scores(np.arange(1, n + 1), np.full(n, n)) for n in sizes.tolist()]
    expected, variance = (np.array([moment(one) for one in steps]) for moment in (np.mean, np.var))
    total = np.bincount(own, score, count)
    excess = total - np.bincount(own, expected[kind], count)
    probability = np.ones(count)
    high = np.flatnonzero(excess > np.sqrt(np.bincount(own, variance[kind], count)))
    if len(high):
        kinds = _by_host(own, kind, high, len(sizes))
        most = np.append([one[0] for one in steps], 0)[kinds].sum(axis=1).max()
        length = 1 << int(most).bit_length()
        spectra = [np.fft.rfft(np.bincount(one) / len(one), length) for one in steps]
        table = np.stack([*spectra, np.ones(length // 2 + 1)])
        at_once = max(_CELLS_AT_ONCE // length, 1)
        for begin in range(0, len(high), at_once):
            chosen = slice(begin, begin + at_once)
            probability[high[chosen]] = _tails(table, kinds[chosen], total[high[chosen]].astype(np.int64), length)
    return probability


def _by_host(own: Int, kind: Int, high: Int, none: int) -> Int:
    """(hosts, jobs) size of role in each job of some hosts, as a row of the table; `none` where there is no more."""
    order = np.argsort(own, kind="stable")
    counts = np.bincount(own)
    place = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = np.full((len(counts), int(counts.max())), none, np.int64)
    found[own[order], place] = kind[order]
    return found[high, : int(counts[high].max())]


def _tails(table: Float, kinds: Int, total: Int, length: int) -> Float:
    """(hosts,) chance of at least `total`, from the transform of each job's distribution."""
    product = np.ones((len(kinds), table.shape[1]), np.complex128)
    for column in kinds.T:
        product *= table[column]
    chance = np.fft.irfft(product, length, axis=1)
    tail = np.cumsum(chance[:, ::-1], axis=1)[:, ::-1]
    return np.clip(tail[np.arange(len(total)), total], MIN_PROBABILITY, 1.0)
