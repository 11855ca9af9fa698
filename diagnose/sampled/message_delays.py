"""Samples laid over one another -> how much later each message passes than at the job's best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.sampled.sampled_job_view import PP, IterationComparison, SampledView, later
from reconstruct.sampled.folding.folded_samples import Points, passing_ns, places

# Connections between the same stages whose bytes of an iteration differ by no more than a twentieth act alike.
SIZES_AN_E_FOLD = 20
# What passes in less than this share of an iteration's bytes is a piece of a message that was cut wrongly.
LEAST_SHARE = 0.08


@dataclass(frozen=True, slots=True)
class MessageDelays:
    """Messages of a folded iteration: (n,) each, by time.

    Attributes:
        connection: number of the connection in the view.
        src, dst: address codes.
        before_ns: when the middle of it passed at the job's best, after the iteration began.
        later_ns: how much later it passes in the slow iterations.
        error_ns: standard error of that.
    """

    connection: Int
    src: Int
    dst: Int
    before_ns: Float
    later_ns: Float
    error_ns: Float

    def __len__(self) -> int:
        return len(self.src)

    def take(self, rows: Bool | Int) -> MessageDelays:
        """Some of them."""
        return MessageDelays(
            self.connection[rows],
            self.src[rows],
            self.dst[rows],
            self.before_ns[rows],
            self.later_ns[rows],
            self.error_ns[rows],
        )


def messages_between_stages(view: SampledView, compared: IterationComparison) -> MessageDelays:
    """Every message between stages; connections that act alike are cut at the same places."""
    own = np.flatnonzero(view.role == PP)
    stage = np.array([[view.job.stage.get(int(e), 0) for e in ends[own]] for ends in (view.src, view.dst)], np.int64)
    size = np.rint(np.log(np.maximum(view.quantum_bytes[own], 1)) * SIZES_AN_E_FOLD).astype(np.int64)
    kinds, number = np.unique(np.stack([*stage, size]), axis=1, return_inverse=True)
    period_ns = float(np.median(np.diff(view.job.edges_ns)[compared.before - 1]))
    rows: list[tuple[int, float, float]] = []
    for kind in range(kinds.shape[1]):
        alike = own[number.ravel() == kind]
        cut = places(view.of(alike), compared.before, period_ns)
        rows += [(int(m), low, high) for m in alike for low, high in _whole(cut)]
    return _measured(view, rows, compared)


def _whole(cut: Float) -> list[tuple[float, float]]:
    return [(a, b) for a, b in zip(cut[:-1].tolist(), cut[1:].tolist(), strict=True) if b - a >= LEAST_SHARE]


def _measured(
    view: SampledView, rows: Sequence[tuple[int, float, float]], compared: IterationComparison
) -> MessageDelays:
    found = []
    for m, low, high in rows:
        own: Points = view.points[m]
        before = passing_ns(own, low, high, compared.before)
        late = later(passing_ns(own, low, high, compared.now), before)
        if np.isfinite(late.error):
            found.append((m, before.value, late.value, late.error))
    table = np.array(sorted(found, key=lambda row: (row[1], row[0])), np.float64).reshape(-1, 4)
    connection = table[:, 0].astype(np.int64)
    return MessageDelays(connection, view.src[connection], view.dst[connection], table[:, 1], table[:, 2], table[:, 3])
