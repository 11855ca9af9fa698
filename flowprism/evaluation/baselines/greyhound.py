"""Greyhound's detector: the iteration's period by autocorrelation, slowdowns by change points of at least 10 %.

Source: "Greyhound: Hunting Fail-Slows in Hybrid-Parallel Training at Scale", USENIX ATC 2025 (arXiv 2410.12588). There
a shim in the communication library logs each call of a rank; the operations repeat with the iteration, found where
their autocorrelation reaches 0.95; Bayesian online change-point detection runs on iteration times, and a change counts
where means differ by 10 %. Its localisation profiles and benchmarks machines, which no observer of flows can. Assumed
here: a rank's messages to one peer stand for its calls; their sizes are the series, or their gaps, both as logarithms;
the job's membership is known, as it is to a shim, and taken from the truth.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from datamodel.reports.truth import TrueJob
from flowprism.evaluation.baselines.change_points import change_points
from flowprism.evaluation.baselines.messages import Messages
from flowprism.evaluation.baselines.verdict import Anomaly, JobVerdict

_CORRELATED, _LEAST_CHANGE = 0.95, 0.10
_RANKS_TRIED, _LEAST_ITERATIONS = 8, 4


def greyhound(messages: Messages, jobs: tuple[TrueJob, ...]) -> list[JobVerdict]:
    """For each job, its iterations as one rank sees them, and when they became slower."""
    code = {address: n for n, address in enumerate(messages.addresses)}
    found = []
    for job in jobs:
        members = np.array(sorted(code[a] for a in job.endpoints if a in code), np.int64)
        starts = _iterations(messages, members)
        found.append(JobVerdict(members, {}, {}, starts[1:], _slowdowns(starts)))
    return found


def _iterations(messages: Messages, members: Int) -> Int:
    """When the iterations of the first rank that shows a period begin, ns; empty where none of those tried does."""
    tried = members[:: max(len(members) // _RANKS_TRIED, 1)][:_RANKS_TRIED]
    for pair in np.flatnonzero(np.isin(messages.pairs[:, 0], tried)):
        own = slice(messages.first[pair], messages.first[pair + 1])
        start = messages.start_ns[own]
        period = _period(np.log(messages.bytes[own])) or _period(np.log(np.maximum(np.diff(start), 1_000)))
        if period:
            return start[::period]
    return np.zeros(0, np.int64)


def _period(series: Float) -> int:
    """Smallest lag at which a series repeats itself; 0 for none. Every lag is normed by the part that overlaps."""
    n = len(series)
    if n < 2 * _LEAST_ITERATIONS or series.std() == 0:
        return 0
    centred = series - series.mean()
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    product = np.fft.irfft(spectrum * np.conj(spectrum), size)[: n // _LEAST_ITERATIONS + 1]
    energy = np.concatenate([[0.0], np.cumsum(centred**2)])
    lags = np.arange(len(product))
    norm = np.sqrt(energy[n - lags] * (energy[n] - energy[lags]))
    high = np.flatnonzero(product[1:] >= _CORRELATED * np.maximum(norm[1:], 1e-12)) + 1
    return int(high[0]) if len(high) else 0


def _slowdowns(starts: Int) -> list[Anomaly]:
    """Runs of iterations at least 10 % slower than the run before the first change."""
    took = np.diff(starts).astype(float)
    if len(took) < _LEAST_ITERATIONS:
        return []
    changes = np.flatnonzero(change_points(took, np.array([0, len(took)])))
    edges = [0, *changes.tolist(), len(took)]
    usual = float(took[: edges[1]].mean())
    found: list[Anomaly] = []
    for a, b in pairwise(edges[1:]):
        level = float(took[a:b].mean())
        if level > (1 + _LEAST_CHANGE) * usual:
            found.append(Anomaly("job", None, int(starts[a]), int(starts[b])))
        elif level < usual:
            usual = level
    return found
