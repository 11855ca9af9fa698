"""Edge classes -> features: what a class of edges looks like, as small integers that a table of likelihoods counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from strategy.closure import components
from strategy.traffic.stream_profiles import PARTS
from strategy.traffic.traffic_edges import VARIES, TrafficEdges, deviations

# Feature -> ascending bounds of its bins. Shape needs no other class to be known; timing is relative to the passes.
SHAPE: dict[str, tuple[float, ...]] = {
    "both_ways": (0.25, 0.75),
    "concurrency": (0.0, 0.2, 0.5, 0.8),
    "partners": (1.5, 2.5, 4.5),
    "mesh": (0.5, 1.5),
    "transfers": (1.5, 2.5, 4.5, 12.5, 40.5),
    "start": (0.05, 0.2, 0.5, 0.8),
    "bytes": (0.02, 0.1, 0.4),
    "variation": (0.5, 1.5),
}
TIMING: dict[str, tuple[float, ...]] = {
    "turns": (0.3, 0.7, 1.5, 4.0),
    "pass_thirds": (0.02, 0.15),
    "after_passes": (0.02, 0.15, 0.5, 0.9),
    "pass_end": (0.5, 0.9, 1.1, 1.5),
    "ends_last": (0.5,),
}


# So much of all pairs makes a mesh; up to three members a ring has all of them.
MESH_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Passes:
    """When forward and backward passes run, for each edge by its sender, as shares of the iteration.

    Attributes:
        begin, end: (edges,) of the sender's passes.
        latest: classes that end later are among the last of the iteration, as a share of it.
        turns: transfers of a point-to-point edge in an iteration; nan without a pipeline.
    """

    begin: Float
    end: Float
    latest: float
    turns: float


def measure_shape(edges: TrafficEdges, chosen: Int, host: Int) -> dict[str, float]:
    """Features of a class that hold whatever the other classes are.

    Args:
        edges: the job's edges.
        chosen: (e,) numbers of the class's edges.
        host: (codes,) host of each address code; one of its own where it is unknown.
    """
    src, dst = edges.src[chosen], edges.dst[chosen]
    codes = int(max(edges.src.max(), edges.dst.max())) + 1
    pairs = np.unique(src * codes + dst)
    ends = np.unique(np.concatenate([src, dst]))
    partners = np.bincount(pairs // codes, minlength=codes)[ends]
    known = edges.concurrency[chosen]
    known = known[~np.isnan(known)]
    acts = float(np.median(known)) if len(known) else -1.0
    size, mesh_pairs = _components(src, dst, host)
    period = max(edges.period_ns, 1.0)
    return {
        "both_ways": len(np.intersect1d(src, dst)) / len(ends),
        "concurrency": acts if np.isfinite(acts) else np.nan,
        "partners": float(np.median(partners[partners > 0])) if (partners > 0).any() else 0.0,
        "mesh": 1.0 if size <= 3 else 2.0 * (len(pairs) >= MESH_SHARE * mesh_pairs),
        "transfers": float(np.median(edges.transfers[chosen])),
        "start": float(np.median(edges.first_ns[chosen])) / period,
        "bytes": float(edges.iteration_bytes[chosen].sum() / max(edges.iteration_bytes.sum(), 1.0)),
        "variation": _variation(edges, chosen),
    }


def measure_timing(edges: TrafficEdges, chosen: Int, passes: Passes) -> dict[str, float]:
    """Features of a class relative to the passes of its senders."""
    period = max(edges.period_ns, 1.0)
    begin, end = passes.begin[chosen], passes.end[chosen]
    length = np.maximum(end - begin, 1e-3)
    last = edges.last_ns[chosen] / period
    centers = (np.arange(PARTS) + 0.5) / PARTS
    spread = edges.spread[chosen]
    third = np.floor((centers - begin[:, None]) * 3 / length[:, None])
    thirds = np.stack([np.where(third == n, spread, 0).sum(axis=1) for n in range(3)])
    after = np.where(centers >= end[:, None], spread, 0).sum(axis=1)
    return {
        "turns": float(np.median(edges.transfers[chosen])) / passes.turns,
        "pass_thirds": float(np.median(thirds.min(axis=0))),
        "after_passes": float(np.median(after)),
        "pass_end": float(np.median((last - begin) / length)),
        "ends_last": float(np.median(last) >= passes.latest),
    }


def to_bins(features: dict[str, float], bounds: dict[str, tuple[float, ...]]) -> dict[str, int]:
    """The bin of each feature that is known."""
    known = [name for name in bounds if not np.isnan(features[name])]
    return {name: int(np.searchsorted(bounds[name], features[name], side="right")) for name in known}


def _variation(edges: TrafficEdges, chosen: Int) -> float:
    """0: iterations carry the same bytes, 1: what an endpoint sends changes alike, 2: each edge changes by itself.

    Sequences of other lengths change all that a rank sends in its passes alike. Experts get tokens as routers choose.
    """
    known = edges.variation[chosen]
    known = known[~np.isnan(known)]
    if not len(known) or float(np.median(known)) <= VARIES:
        return 0.0 if len(known) else float("nan")
    sizes = edges.iteration_bytes[chosen, None] * edges.sizes[chosen]
    source = np.unique(edges.src[chosen], return_inverse=True)[1]
    sent = np.zeros((int(source.max()) + 1, sizes.shape[1]))
    np.add.at(sent, source, sizes)
    own = deviations(sizes / np.maximum(sent[source], 1.0))
    own = own[~np.isnan(own)]
    return 2.0 if len(own) and float(np.median(own)) > VARIES else 1.0


def _components(src: Int, dst: Int, host: Int) -> tuple[int, int]:
    """Members of the commonest connected component, and pairs of a mesh over each but for those of one host."""
    number = components(src, dst)
    both = np.unique(np.stack([np.concatenate([number, number]), np.concatenate([src, dst])]), axis=1)
    members = np.bincount(both[0])
    sizes, count = np.unique(members, return_counts=True)
    at_host = np.unique(np.stack([both[0], host[both[1]]]), axis=1, return_counts=True)[1]
    return int(sizes[count == count.max()].max()), int((members**2).sum() - (at_host**2).sum())
