"""A job that samples show to have stopped inside an iteration, and whom they clear of having stopped first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc

from datamodel.reconstructed.streams import Float, Int
from datamodel.reports.findings import Evidence, Finding, Subject, Suspect
from diagnose.finding_text import finding_id, listed
from diagnose.hangs.hang_detection import AT_ONCE, SILENT_ITERATIONS
from diagnose.options import MODEL
from diagnose.sampled.sampled_job_view import SampledView
from reconstruct.numeric.medians import MAD_TO_SIGMA
from reconstruct.sampled.folding.last_position import LastPosition

# Between two samples usually lies a mean spacing, exponentially distributed: so many come by a chance of e^-8.
SURE_SPACINGS = 8.0
# What is missing is no chance of sampling where that would make as much so rarely: many jobs end.
CHANCE = 1e-4
# An iteration has begun where so many samples lie beyond its boundary: one may be of a wrong place.
FEWEST_BEYOND = 3
# When a connection passes each of its bytes is taken from so many iterations before, and known to so many deviations.
RECENT, SURE = 10, 3.0


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A job that stopped inside an iteration.

    Attributes:
        missing: samples that the bytes it left unsent would usually have given.
        first: endpoints that may have stopped first, ascending: none was seen to go on after somebody had surely
            stopped. Empty where all of the job may have stopped at once, as where it is killed.
    """

    missing: float
    first: Int


def sampled_hang(view: SampledView, still: LastPosition) -> list[Finding]:
    """A finding where the job stands still in the middle of an iteration.

    1. It is silent for three iterations, and for so long as sampling never makes it, while every exporter that saw it
       still reports.
    2. A job that ends does so after a whole iteration: between the last sample of each connection and the boundary then
       lie bytes that chance left unsampled, as many as lie between two samples. More of them in all are a standstill.
    3. A job that is killed stops everywhere at once: each connection has come as far as it usually has at one moment,
       less what chance left unsampled. If some are further behind, they had stopped while others went on.
    4. Those are clear that were seen to send what usually comes after the moment by which another had surely stopped.
       Where that leaves few, the job hangs, and they are the suspects.
    """
    silent = still.heard_ns - still.since_ns
    if silent < SILENT_ITERATIONS * view.job.period_ns + SURE_SPACINGS * still.spacing_ns:
        return []
    stopped = _stopped(view, still)
    return [] if stopped is None else [_finding(view, still, stopped)]


def _stopped(view: SampledView, still: LastPosition) -> _Stopped | None:
    unsure = SURE_SPACINGS / still.samples
    own = np.flatnonzero(still.reached > -1 - unsure)  # others ended long before
    own = own[[len(view.points[int(n)].phase) > 0 for n in own]]
    reached, samples = still.reached[own], still.samples[own]
    place = unsure[own] / view.job.iterations  # a boundary lies somewhere between two samples of all its iterations
    begun = _begun(reached - place, samples)
    left = (begun - reached) * samples
    if not _beyond_chance(left):
        return None
    usual = [_recent(view, int(n)) for n in own]
    phase = np.clip(reached - place - begun + 1, 0.0, 1.0)
    at_ns = np.array([_passes_ns(after, p) for (after, _), p in zip(usual, phase, strict=True)])
    moment = float(at_ns.max()) - SURE * float(np.median([scatter for _, scatter in usual]))
    by_then = np.array([np.mean(after <= moment) for after, _ in usual])
    surely = phase + place + unsure[own]
    stop_ns = min((_passes_ns(after, p) for (after, _), p in zip(usual, surely, strict=True) if p < 1), default=np.inf)
    on = at_ns > stop_ns
    first = np.setdiff1d(view.job.endpoints, view.src[own[on]])
    at_once = len(first) > max(AT_ONCE * len(view.job.endpoints), 2) or not _beyond_chance((by_then - phase) * samples)
    return _Stopped(float(left.sum()), first[:0] if at_once else first)


def _begun(reached: Float, samples: Float) -> int:
    """How many iterations have begun since the last edge: beyond the boundary of the last one lie several samples."""
    whole = np.floor(np.maximum(reached, 0.0))
    latest = float(whole.max(initial=0.0))
    beyond = np.maximum(reached - latest, 0.0)
    return int(latest) + int(float((samples * beyond).sum()) >= FEWEST_BEYOND)


def _beyond_chance(spacings: Float) -> bool:
    """Whether so many mean spacings without a sample, one stretch a connection, are more than chance leaves."""
    return len(spacings) > 0 and bool(gammaincc(len(spacings), max(float(spacings.sum()), 0.0)) < CHANCE)


def _recent(view: SampledView, connection: int) -> tuple[Float, float]:
    """(when a connection's samples of the latest iterations came, ascending; how far each scatters about its place)."""
    points = view.points[connection]
    late = points.iteration >= min(view.job.iterations - RECENT, int(points.iteration.max()))
    after, phase = points.after_ns[late], points.phase[late]
    off = np.abs(after - np.quantile(after, phase))  # the median: beside a pause a little less passes much earlier
    return np.sort(after), MAD_TO_SIGMA * float(np.median(off))


def _passes_ns(after_ns: Float, phase: float) -> float:
    """When a place of its bytes usually passes; 0 for the very first."""
    return float(np.quantile(after_ns, phase)) if phase > 0 else 0.0


def _finding(view: SampledView, still: LastPosition, stopped: _Stopped) -> Finding:
    job, silent = view.job, still.heard_ns - still.since_ns
    names, told = job.names(stopped.first), len(stopped.first) > 0
    subject = Subject(type="job", ids=(job.id,))
    if told:
        subject = Subject(type="endpoint", ids=names) if len(names) == 1 else Subject(type="group", ids=names)
    who = f"One of {listed(names)} stopped first" if len(names) > 1 else f"{listed(names)} stopped first"
    how = "All of it may have stopped at once: it hangs, or was stopped"
    window = still.since_ns, still.heard_ns
    return Finding(
        id=finding_id(job.id, "hang", subject.ids, still.since_ns),
        job=job.id,
        kind="hang",
        cause=None,
        severity="critical" if told else "info",
        start_ns=still.since_ns,
        end_ns=None,
        # one of the suspects; else it hangs or was stopped, which look alike
        confidence=round(MODEL.most_confidence / len(names) if told else 1 / 2, 4),
        slowdown_ratio=round((job.period_ns + silent) / job.period_ns, 4),
        subject=subject,
        suspects=tuple(Suspect(type="endpoint", ids=(n,), probability=round(1 / len(names), 4)) for n in names)
        if len(names) > 1
        else (),
        evidence=(
            Evidence(
                metric="silence since the last sample",
                value=round(silent / 1e9, 3),
                baseline=round(still.spacing_ns / 1e9, 6),
                unit="s",
                where=job.id,
                window_ns=window,
            ),
            Evidence(
                metric="samples that the rest of the iteration would have given",
                value=round(stopped.missing, 1),
                baseline=float(len(view.src)),
                unit="",
                where=job.id,
                window_ns=(int(job.edges_ns[-1]), still.heard_ns),
            ),
        ),
        summary=f"The job stands still in the middle of an iteration, for {silent / 1e9:.0f} s. "
        f"{who if told else how}; exporters go on reporting.",
        action="Ask the scheduler whether the job was stopped. If not, take stack traces before restarting it"
        + (", of the suspects first." if told else "."),
    )
