"""Pair tables where single transfers are not known: volumes of pairs and rates of gradient rings, with errors."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.transfers import PAIRS, ROLES
from diagnose.sampled.sampled_job_view import SampledView
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.folding.folded_rates import MOST_BLOCKS, typical_iterations
from reconstruct.sampled.folding.folded_samples import pace_ns
from reconstruct.sampled.jobs.volume_jobs import VolumeJob


def pairs_of_samples(view: SampledView, progress: ProgressCurves, connections: Int, places: bool) -> Frame:
    """The pair table of a job that numbered samples show (`datamodel.reconstructed.transfers.PAIRS`).

    Between a connection's first and last sample its sequence numbers count every byte. Before and behind lies about as
    much as between two samples each, an exponential's mean, whose standard deviation is the same.

    Args:
        view: the job.
        progress: its curves.
        connections: which of them are the view's.
        places: whether iteration times are known well enough for rates of rings.
    """
    points = np.maximum(np.diff(progress.offsets)[connections] - 1, 1)
    between = progress.volume_bytes()[connections]
    gap = between / points
    rate, rate_error = _ring_rates(view) if places else np.full((2, len(connections)), np.nan)
    return _table(view.src, view.dst, view.role, (between + 2 * gap, np.sqrt(2) * gap), (rate, rate_error))


def pairs_of_volumes(job: VolumeJob) -> Frame:
    """The pair table of a job that only its volumes show."""
    own = job.connections
    unknown = np.full(len(own.src), np.nan)
    role = np.full(len(own.src), ROLES.index("other"))
    return _table(own.src, own.dst, role, (own.volume, own.errors()), (unknown, unknown))


def _ring_rates(view: SampledView) -> tuple[Float, Float]:
    """(rate at which each connection's gradient ring moves its bytes, standard error); nan outside of rings.

    Medians over some iterations of about the median time, spread evenly. None are known where no iteration takes that,
    as of two with unlike times.
    """
    rate, error = np.full((2, len(view.src)), np.nan)
    alike = typical_iterations(view.job.edges_ns) + 1
    if not len(alike):
        return rate, error
    some = alike[np.unique(np.linspace(0, len(alike) - 1, MOST_BLOCKS).astype(np.int64))]
    for ring in view.rings():
        pace = pace_ns(view.of(ring), some)
        rate[ring] = 8e9 * view.quantum_bytes[ring] / pace.value
        error[ring] = rate[ring] * pace.error / pace.value
    return rate, error


def _table(src: Int, dst: Int, role: Int, volume: tuple[Float, Float], rate: tuple[Float, Float]) -> Frame:
    """One row a directed pair and role: volumes of its connections added up, the mean of their rates."""
    unique, which = np.unique(np.stack([src, dst, role], axis=1), axis=0, return_inverse=True)
    which = which.ravel()
    each = np.bincount(which, minlength=len(unique))
    squares = np.bincount(which, volume[1] ** 2, len(unique))
    none = np.zeros(len(unique), np.int64)
    return Frame(
        PAIRS,
        {
            "src": unique[:, 0],
            "dst": unique[:, 1],
            "role": unique[:, 2],
            "bytes": np.rint(np.bincount(which, volume[0], len(unique))).astype(np.int64),
            "transfers": none,
            "rate_bps": np.bincount(which, rate[0], len(unique)) / each,
            "late_ratio": np.full(len(unique), np.nan),
            "bytes_error": np.sqrt(squares),
            "rate_error_bps": np.bincount(which, rate[1], len(unique)) / each,
        },
    )
