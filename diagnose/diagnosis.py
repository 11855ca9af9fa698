"""All findings of one job: what changed is explained first, then what was never right."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from datamodel.reports.findings import Finding
from diagnose.compute.compute_findings import load_finding, regression_finding, stage_finding
from diagnose.compute.culprits import Culprits, culprits
from diagnose.compute.late_iterations import find_late_iterations, find_slow_iterations
from diagnose.compute.load_imbalance import waiting_ratio
from diagnose.compute.own_time_findings import computes_longer_finding
from diagnose.compute.send_delays import PP, SendDelays, add_time_bounds, sends
from diagnose.compute.stage_compute import stage_compute
from diagnose.compute.stragglers import compute_ratio
from diagnose.endpoint_index import group_numbers
from diagnose.events import rests
from diagnose.hangs.hang_detection import Hang, hang
from diagnose.hangs.hang_findings import hang_finding
from diagnose.job_view import JobView
from diagnose.links.link_causes import cause_of
from diagnose.links.link_findings import link_finding, with_cause
from diagnose.links.slow_links import SlowLink, StreamLosses, slow_links, slowest_loss_ns, stream_losses
from diagnose.links.uplink_suspects import narrow_to_uplinks
from diagnose.measures.stream_rates import Rates, rates
from diagnose.model.compared_iterations import ComparedIterations
from diagnose.model.own_time import OwnTime
from diagnose.model.uneven_work import EVEN, UnevenWork, exchanged_bytes, uneven_work
from diagnose.options import MODEL
from diagnose.pace_intervals import PaceInterval, durations_ns, find_sporadic, split_intervals
from diagnose.patterns.unlike_peers import with_unusual
from diagnose.recurring_findings import continued, merge_recurring

LOCATED = frozenset({"straggler", "slow_link", "slow_uplink"})
# Sends that all begin within this share of what all are late by begin together.
AT_THE_SAME_MOMENT = 0.01
# A stream that is slower than its peers by this share of what somebody is late by may be why.
EXPLAINS = 0.5
# Who is late in this share of all iterations, from the first late one on, is late all the time, not now and then.
LASTS = 0.8


@dataclass(frozen=True, slots=True)
class DiagnosisOptions:
    """What is worth reporting.

    Attributes:
        least_slowdown_ratio: smallest slowdown of the iteration time that is reported at all.
        load_wait_ratio: share of the iteration that waiting for a changing last rank must cost.
        fewest_iterations: with fewer, nothing is compared.
    """

    least_slowdown_ratio: float = 0.05
    load_wait_ratio: float = 0.10
    fewest_iterations: int = 6


@dataclass(frozen=True, slots=True)
class _Measured:
    job: JobView
    options: DiagnosisOptions
    kinds: tuple[SendDelays, ...]
    rates: Rates
    known: dict[tuple[bytes, bytes, float], StreamLosses] = field(default_factory=dict)

    def losses(self, compared: ComparedIterations) -> StreamLosses:
        """What streams lose; links and compute are weighed against the same losses."""
        key = compared.interval.tobytes(), compared.baseline.tobytes(), compared.longer_ns
        if key not in self.known:
            self.known[key] = stream_losses(self.rates, compared, self.job.fabric)
        return self.known[key]


def diagnose(job: JobView, options: DiagnosisOptions) -> list[Finding]:
    """Findings of one job, by start.

    1. Iteration times are split into periods. Each slow one is explained by a link, or else by late endpoints, an
       uneven pipeline or the whole job, compared with the job at its best.
    2. At its best, the job may still be held back by something that was there all along: the same, among peers.
    3. A job that stopped inside an iteration hangs.

    Endpoints and iterations are compared in the time in which all exporters of the job were heard: who causes what the
    others show may be the one that is not seen. What is slow beyond that time is told without a place.
    """
    stuck = _stuck(job)
    found = [hang_finding(job, stuck)] if stuck is not None else []
    whole = job.seen_whole()
    if whole.iterations >= options.fewest_iterations:
        found += _compared(whole, options, found)
    if whole is not job and job.iterations >= options.fewest_iterations:
        found += _beyond(job, options, found)
    return sorted(found, key=lambda f: (f.start_ns, f.kind, f.id))


def _compared(job: JobView, options: DiagnosisOptions, stuck: list[Finding]) -> list[Finding]:
    """What is found by comparing iterations, and endpoints, with one another; `stuck` is a hang that was found."""
    measured = _Measured(
        job,
        options,
        add_time_bounds(
            sends(job.operations, job.endpoints, job.stage, job.edges_ns, job.sharded), job.endpoints, job.dates
        ),
        rates(job.operations, job.iterations),
    )
    least = options.least_slowdown_ratio
    parts = split_intervals(job.edges_ns, least, job.moved_bytes, job.incomplete)
    single = find_sporadic(job.edges_ns, parts, least, job.moved_bytes, job.guessed)
    lasting, scattered = _in_turn(measured, parts), _sporadic(measured, single)
    if all(f.kind not in LOCATED and f.severity == "info" for f in [*lasting, *scattered]):
        late = _late_in_some(measured)
        lasting, scattered = ([], late) if late else (lasting, scattered)
    best = np.concatenate([p.iterations for p in parts if not p.slow] or [np.zeros(0, np.int64)])
    best = best if single is None else np.setdiff1d(best, single.iterations)
    always = _persistent(measured, best, [*stuck, *merge_recurring(lasting, scattered)])
    # experts that get many tokens now and then make single iterations long, at places that may be the same
    uneven = max((f.slowdown_ratio for f in always if f.kind == "imbalance" and f.cause == "experts"), default=1.0)
    return merge_recurring(lasting, [f for f in scattered if f.slowdown_ratio > uneven]) + always


def _beyond(job: JobView, options: DiagnosisOptions, found: list[Finding]) -> list[Finding]:
    """Slow periods in which nothing was found, of a job that was not seen as a whole all the time."""
    parts = split_intervals(job.edges_ns, options.least_slowdown_ratio, None, job.incomplete)
    slow = [(p, _span(job, p)) for p in parts if p.slow]
    untold = [(p, span) for p, span in slow if not any(_meet(f, span) for f in found)]
    return merge_recurring([regression_finding(job, p, span) for p, span in untold], [])


def _meet(finding: Finding, span_ns: tuple[int, int | None]) -> bool:
    """Whether a finding holds some of a stretch of time."""
    begun = span_ns[1] is None or finding.start_ns < span_ns[1]
    return begun and (finding.end_ns is None or finding.end_ns > span_ns[0])


def _stuck(job: JobView) -> Hang | None:
    """A hang, by those who were seen to the end; who was not may as well be who did not go on.

    A job that stops where it began has moved whole iterations, wherever these are cut: it ended.
    """
    if job.stops_where_begun:
        return None
    if not job.lost:
        together = job.groups.get("tp", ())
        return hang(job.operations, job.edges_ns, job.window_end_ns, job.last_sent_ns, together, job.steps)
    seen = job.operations.take(~np.isin(job.operations["endpoint"], job.lost))
    last_ns = max(job.last_sent_ns[e] for e in np.unique(seen["endpoint"]).tolist())
    last_sent_ns = {**job.last_sent_ns, **dict.fromkeys(job.lost, last_ns)}
    found = hang(seen, job.edges_ns, job.window_end_ns, last_sent_ns, job.groups.get("tp", ()))
    return found and replace(found, culprits=tuple(sorted({*found.culprits, *job.lost})))


def _span(job: JobView, period: PaceInterval) -> tuple[int, int | None]:
    end = None if period.last >= job.iterations - 1 else int(job.edges_ns[period.last])
    return int(job.edges_ns[period.first - 1]), end


def _in_turn(measured: _Measured, parts: list[PaceInterval]) -> list[Finding]:
    """The findings of all slow periods; one that lasts from one period into the next is a single one."""
    ended: list[Finding] = []
    going: list[Finding] = []
    for before, period in pairwise([None, *parts]):
        if period is None or not period.slow:
            ended, going = [*ended, *going], []
            continue
        found = _explained(measured, period)
        step = _step(before, period, measured.options) if before is not None and going else None
        further = [f for f in _explained(measured, step) if f.kind in LOCATED] if step is not None else []
        span = _span(measured.job, period)
        over, going = continued(going, found, further, span[1], measured.job.measured_ns(span)[1])
        ended += over
    return [*ended, *going]


def _step(before: PaceInterval, period: PaceInterval, options: DiagnosisOptions) -> PaceInterval | None:
    """A period against the slow one right before it, where it is slower still: something came on top."""
    ratio = period.duration_ns / before.duration_ns
    if not before.slow or before.baseline != period.baseline or ratio < 1 + options.least_slowdown_ratio:
        return None
    return replace(period, baseline=tuple(before.iterations.tolist()), slowdown_ratio=ratio)


def _explained(measured: _Measured, period: PaceInterval) -> list[Finding]:
    """The findings that explain why a period is slow: what is different in those of its iterations that are.

    Links and compute are weighed against the same time. A stream is slow by its own link only, whereas everybody's own
    time may be longer by what slow streams hold up: so much of it tells nothing of compute.
    """
    job, span = measured.job, _span(measured.job, period)
    baseline, slow = np.array(period.baseline, np.int64), _slow_ones(job, period)
    longer = period.duration_ns * (1 - 1 / period.slowdown_ratio)
    sure = MODEL.sure_scattered if period.only else MODEL.sure
    compared = ComparedIterations(slow, baseline, period.duration_ns, longer, MODEL.least_share * longer, sure)
    links = _slow_links(measured, compared)
    found = [_of_link(measured, link, (slow, baseline), span, period.slowdown_ratio) for link in links]
    held_up_ns = slowest_loss_ns(measured.losses(compared).elements)
    if held_up_ns < (1 - MODEL.least_share) * longer:
        sure = MODEL.sure_among_peers if period.only else MODEL.sure
        found += _of_compute(measured, period, compared._replace(sure=sure, held_up_ns=held_up_ns))
    elif links:
        found += _next_to_links(measured, period, compared)
    return found or [with_unusual(regression_finding(job, period, span), job, compared)]


def _next_to_links(measured: _Measured, period: PaceInterval, compared: ComparedIterations) -> list[Finding]:
    """Find a rank that computes longer, where slow links already explain all that an iteration lost.

    By what it costs itself, however little that is of the whole. Who waits for a slow link may look late as well, but
    not before everything it sends. Where all others take longer too, all wait for the link.
    """
    job = measured.job
    if job.own is None:
        return []
    best_ns = period.duration_ns / period.slowdown_ratio
    least_ns = measured.options.least_slowdown_ratio * best_ns
    alone = compared._replace(longer_ns=0.0, least_lost_ns=least_ns, sure=MODEL.sure_among_peers)
    found = culprits(job, measured.kinds, alone)
    late = [one for one in found.named[:1] if one.best.who in {"cell", "host"} and one.best.others_ratio == 1]
    late = [one for one in late if _in_all_it_does(measured, one.best.own[found.cell], compared, one.best.ratio)]
    ratios = [period.duration_ns / max(period.duration_ns - one.best.lost_ns, best_ns) for one in late]
    span = _span(job, period)
    return [
        computes_longer_finding(job, found.cell, found.grown, one, span, ratio)
        for one, ratio in zip(late, ratios, strict=True)
    ]


def _in_all_it_does(measured: _Measured, late: Bool, compared: ComparedIterations, ratio: float) -> bool:
    """Whether endpoints take longer, by half of a ratio, before what no slow link of others can delay.

    In a pipeline that are never all of its messages; else it is the first that is sent in an iteration.
    """
    job, kinds, slow, usual = measured.job, measured.kinds, compared.interval, compared.baseline
    if any(k.role == PP for k in kinds):
        together = group_numbers(job.endpoints, job.groups.get("tp", ()))
        grown = compute_ratio(kinds, job.stages, slow, usual, together)[late]
        return bool(np.median(grown) > np.sqrt(ratio))
    known = [k for k in kinds if np.isfinite(k.delay_ns[late]).any()]
    took = min(known, key=lambda k: float(np.nanmedian(k.start_ns[late, 1:] - job.edges_ns[:-1]))).delay_ns[late]
    return bool(np.nanmedian(took[:, slow]) > np.nanmedian(took[:, usual]) * np.sqrt(ratio))


def _slow_links(measured: _Measured, compared: ComparedIterations) -> list[SlowLink]:
    """The links that are slow, by the rates of all streams."""
    job = measured.job
    lost = measured.losses(compared)
    return slow_links(
        measured.rates, compared, lost, job.fabric, job.notices, job.edges_ns, whole_bursts=job.whole_bursts
    )


def _of_compute(measured: _Measured, period: PaceInterval, compared: ComparedIterations) -> list[Finding]:
    """Who computes longer in a slow period than before; nobody where none is told apart."""
    job, span, ratio = measured.job, _span(measured.job, period), period.slowdown_ratio
    found = culprits(job, measured.kinds, compared)
    if not found.named or found.places > MODEL.most_culprits or not _told_apart(measured, found, compared):
        return []
    best, probability = found.named[0].best, found.named[0].near[0][1]
    if best.who == "everybody":
        return [regression_finding(job, period, span, probability)] if best.ratio <= MODEL.everybody_most else []
    # single iterations that are late have one cause, and who waits for it may look as late as it does
    named = found.faults if compared.longer_ns > 0 else found.as_one_fault
    return [computes_longer_finding(job, found.cell, found.grown, late, span, ratio) for late in named]


def _told_apart(measured: _Measured, found: Culprits, compared: ComparedIterations) -> bool:
    """Whether delays before sends tell who is late, where no ready messages do.

    Not where dates do not tell who sent first; not where all are late and begin together, or are in rings of two.
    """
    job, lost_ns = measured.job, found.grown.lost_ns
    if job.own is not None:
        return True
    together = _begin_together(measured.kinds, compared.interval, float(lost_ns.max()))
    if job.dates is not None and together:
        return False
    all_late = bool((lost_ns >= MODEL.least_share * lost_ns.max()).all())
    return not all_late or not (together or _in_pairs(job))


def _slow_ones(job: JobView, period: PaceInterval) -> Int:
    """A period's iterations that are nearer to its time than to the baseline's: some of what comes and goes is away."""
    iterations = period.iterations
    limit = period.duration_ns * (1 + 1 / period.slowdown_ratio) / 2
    return iterations[durations_ns(job.edges_ns)[iterations] >= limit]


def _of_link(
    measured: _Measured, link: SlowLink, compared: tuple[Int, Int], span: tuple[int, int | None], ratio: float
) -> Finding:
    """A slow link as a finding, with its cause; `compared` are the iterations that are slow and those that are not."""
    job, period = measured.job, compared[0]
    window = int(job.edges_ns[period.min() - 1]), int(job.edges_ns[period.max()])
    link = narrow_to_uplinks(link, measured.rates, period, window, job.fabric, job.paths)
    finding = link_finding(job, link, measured.rates, span, ratio)
    cause = cause_of(job.operations, link, measured.rates, *compared, job.fabric)
    return with_cause(finding, cause, job.measured_ns(span))


def _sporadic(measured: _Measured, period: PaceInterval | None) -> list[Finding]:
    """What makes single iterations slow, where it is always the same link or rank; jitter has no such place.

    In a pipeline a straggler makes every pass longer; a first stage that is late once, in silence, rested.
    """
    if period is None:
        return []
    found = _explained(measured, period)
    piped = any(k.role == PP for k in measured.kinds)
    if piped and any(f.kind == "straggler" for f in found) and rests(measured.job, period.iterations):
        return []
    return [f.model_copy(update={"cause": f.cause or "sporadic"}) for f in found if f.kind in LOCATED]


def _late_in_some(measured: _Measured) -> list[Finding]:
    """The link, or the cell, that is slow in some iterations, where iteration times alone do not show these.

    Iterations of which records are missing are left out. Who waits for a slow link may look late, so links come first.
    """
    job, least, took_ns = measured.job, measured.options.least_slowdown_ratio, durations_ns(measured.job.edges_ns)
    for unsure in (job.incomplete, job.guessed):
        if unsure is not None:
            took_ns[unsure] = np.nan
    slow = find_slow_iterations(measured.rates, took_ns, least, MODEL)
    if slow is not None:
        compared = _compared_in(measured, slow)
        both, span = (compared.interval, compared.baseline), _span(job, slow)
        links = _slow_links(measured, compared)
        if links:
            return _now_and_then(
                measured, slow, [_of_link(measured, link, both, span, slow.slowdown_ratio) for link in links]
            )
    if job.own is None or not job.stages_known:
        return []
    first = np.unique(job.own.cell, return_index=True)[1]
    late = find_late_iterations(job.own, job.stages[first], took_ns, least, MODEL)
    if late is None:
        return []
    even = replace(measured, job=replace(job, own=late.own))
    return _now_and_then(
        measured, late.interval, _of_compute(even, late.interval, _compared_in(measured, late.interval))
    )


def _compared_in(measured: _Measured, period: PaceInterval) -> ComparedIterations:
    """Iterations that one link or cell makes longer, against the others."""
    least_ns = MODEL.least_share * period.duration_ns * (1 - 1 / period.slowdown_ratio)
    baseline = np.array(period.baseline, np.int64)
    compared = ComparedIterations(
        period.iterations, baseline, period.duration_ns, 0.0, least_ns, MODEL.sure_among_peers
    )
    return compared._replace(held_up_ns=slowest_loss_ns(measured.losses(compared).elements))


def _now_and_then(measured: _Measured, period: PaceInterval, found: list[Finding]) -> list[Finding]:
    """Findings with a place, as sporadic unless they last to the end."""
    lasts = len(period.iterations) >= LASTS * (measured.job.iterations - period.first)
    cause = None if lasts else "sporadic"
    return [f.model_copy(update={"cause": f.cause or cause}) for f in found if f.kind in LOCATED]


def _in_pairs(job: JobView) -> bool:
    """Whether all are in rings of two without a pipeline: each waits for the other, whoever is the cause."""
    after = job.successors()
    return not any(job.groups.get("pp", ())) and all(after.get(peer) == e for e, peer in after.items())


def _begin_together(kinds: tuple[SendDelays, ...], period: Int, excess_ns: float) -> bool:
    """Whether all send at the very same moment: then everybody waits for the latest, and nobody's delay is its own.

    Ranks that compute each for themselves come apart by more than a hundredth of what each takes longer. Dates that are
    uncertain cannot order what is less apart.
    """
    early = np.fmin.reduce([k.within.earliest_ns[:, period] for k in kinds])
    late = np.fmin.reduce([k.within.latest_ns[:, period] for k in kinds])
    apart = early.max(axis=0) - late.min(axis=0)
    seen = apart[np.isfinite(apart)]
    return bool(len(seen) and np.median(seen) < AT_THE_SAME_MOMENT * excess_ns)


def _persistent(measured: _Measured, best: Int, found: list[Finding]) -> list[Finding]:
    """What held the job back even at its best, in the iterations `best`."""
    job, least = measured.job, measured.options.least_slowdown_ratio
    if len(best) < measured.options.fewest_iterations:
        return []
    iteration_ns = float(np.median(np.diff(job.edges_ns)[best - 1]))
    span = (int(job.edges_ns[0]), None)
    nobody = np.zeros(0, np.int64)
    least_ns = iteration_ns * least / (1 + least)
    compared = ComparedIterations(best, nobody, iteration_ns, 0.0, least_ns, MODEL.sure_among_peers)
    links = _slow_links(measured, compared)
    told = [(link, _without(float(link.lost_ns.max()), iteration_ns)) for link in links]
    if told:
        held = [_of_link(measured, link, (best, nobody), span, ratio) for link, ratio in told]
        return [f for link in held for f in _always(link, found)]
    waits_ns = slowest_loss_ns(measured.losses(compared).elements)
    # a stream that is slower than its peers makes others wait as uneven work does
    uneven, least_wait = _uneven(measured, best), least / (1 + least)
    costs = uneven.ratio >= least_wait and waits_ns < EXPLAINS * uneven.ratio * iteration_ns
    if costs and uneven.experts:
        return [load_finding(job, uneven, least_wait, span)]
    late = _late_among_peers(measured, compared._replace(held_up_ns=waits_ns))
    if late:
        return late
    if costs and not any(f.severity != "info" for f in found):
        return [load_finding(job, uneven, least_wait, span)]
    compute = stage_compute(measured.kinds, job.stages, best)
    heaviest = compute.heaviest() if compute is not None else None
    if compute is not None and heaviest is not None:
        ratio = compute.slowdown_ratio(iteration_ns)
        if ratio >= 1 + least:
            return [stage_finding(job, compute, heaviest, span, ratio, compute.certainty(heaviest))]
    wait = waiting_ratio(job.operations, job.endpoints, job.groups.get("dp", ()), job.stages, best, iteration_ns)
    least_wait = measured.options.load_wait_ratio
    # a stream that is slower than its peers makes others wait as uneven work does
    by_work = waits_ns < EXPLAINS * wait.ratio * iteration_ns
    loud = wait.ratio >= least_wait and not found and by_work
    return [load_finding(job, wait, least_wait, span)] if loud else []


def _uneven(measured: _Measured, best: Int) -> UnevenWork:
    """Work that differs from cell to cell, by their own time; none where that is not known."""
    job = measured.job
    if job.own is None:
        return EVEN
    own = OwnTime(job.own.cell, job.own.own_ns[:, best])
    first = np.unique(own.cell, return_index=True)[1]
    received = exchanged_bytes(job.operations, job.endpoints, own.cell, job.iterations)[:, best]
    return uneven_work(own, job.stages[first], received, durations_ns(job.edges_ns)[best], MODEL)


def _late_among_peers(measured: _Measured, compared: ComparedIterations) -> list[Finding]:
    """Who computes longer than peers of the same place all along."""
    job = measured.job
    if not job.stages_known:
        return []
    found = culprits(job, measured.kinds, compared)
    late = found.named if found.places <= MODEL.most_culprits else ()
    told = [(one, _without(one.best.lost_ns, compared.iteration_ns)) for one in late]
    span = (int(job.edges_ns[0]), None)
    return [computes_longer_finding(job, found.cell, found.grown, one, span, ratio) for one, ratio in told]


def _always(finding: Finding, found: list[Finding]) -> list[Finding]:
    """A link that was slow all along, unless it was found already.

    A cable that the job's own flows fill is no fault but the fabric's capacity: worth knowing, nothing to wake up for.
    """
    if any(f.subject.ids == finding.subject.ids for f in found):
        return []
    full = finding.cause == "ecmp_collision"
    return [finding.model_copy(update={"severity": "info"}) if full else finding]


def _without(lost_ns: float, iteration_ns: float) -> float:
    return iteration_ns / max(iteration_ns - lost_ns, 0.1 * iteration_ns)
