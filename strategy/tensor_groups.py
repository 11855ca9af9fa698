"""Who computes in step: endpoints of one host and stage that belong to one tensor group, by when they begin to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.streams import Bool, Float, Int
from strategy.closure import Members
from strategy.options import StepOptions
from strategy.stream_profiles import StreamProfiles

NEVER = -1


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """How likely cells of endpoints fall into lots that compute in step.

    Attributes:
        log_likelihood: size of a lot -> log-likelihood of the cells' distances.
        starts: endpoint -> (iterations,) start of its last messages.
        cells: endpoints of one host and stage, all cells of the commonest size.
        floor_ns: resolution of the times.
    """

    log_likelihood: Mapping[int, float]
    starts: Mapping[int, Float]
    cells: Sequence[Members]
    floor_ns: float

    def lots(self, size: int) -> tuple[Members, ...]:
        """The lots of `size` endpoints of all cells, members ascending."""
        found = []
        for cell in self.cells:
            parts = _split(_log_distances(self.starts, cell, self.floor_ns), size)
            found += [tuple(sorted(cell[n] for n in part)) for part in parts]
        return tuple(sorted(found))


def _log_distances(starts: Mapping[int, Float], cell: Members, floor_ns: float) -> Float:
    return np.asarray(np.log10(np.maximum(distances(np.stack([starts[e] for e in cell])), floor_ns)))


def last_starts(profiles: StreamProfiles, chosen: Bool, key: Int, keys: int) -> Float:
    """(keys, iterations) when the last message of an iteration began, ns; nan where none was seen.

    Args:
        profiles: rows of all streams.
        chosen: (streams,) whether each stream counts.
        key: (streams,) row of the result each belongs to.
        keys: how many rows there are.
    """
    owner = np.repeat(np.arange(len(profiles.number)), np.diff(profiles.bounds))
    rows = np.flatnonzero(chosen[owner])
    number, column = np.unique(profiles.iteration[rows], return_inverse=True)
    found = np.full((keys, len(number)), NEVER, np.int64)
    np.maximum.at(found, (key[owner[rows]], column), profiles.start_ns[rows])
    return np.where(found == NEVER, np.nan, found)


def distances(starts: Float) -> Float:
    """(n, n) median over iterations of the time between two endpoints' last messages, ns; nan where never both."""
    seen = starts[:, ~np.isnan(starts).all(axis=0)]
    away = np.abs(seen[:, None, :] - seen[None, :, :])
    if not np.isnan(away).any():
        return np.asarray(np.median(away, axis=2))
    usable = (~np.isnan(away)).any(axis=2)
    found = np.full(away.shape[:2], np.nan)
    found[usable] = np.nanmedian(away[usable], axis=1)
    return found


def measure_steps(
    starts: Mapping[int, Float],
    cells: Sequence[Members],
    replicas: Sequence[Members],
    floor_ns: float,
    options: StepOptions,
) -> StepEvidence | None:
    """Compare every even split of the cells into lots.

    Members of a lot begin within a fraction of the time that replicas lie apart: a tensor group sums up every layer's
    results, replicas meet once an iteration. Replicas for certain are members of one gradient group on different
    hosts; their median distance is the scale of what is apart.

    Args:
        starts: endpoint -> (iterations,) start of its last message to a neighboring stage.
        cells: endpoints of one host and stage.
        replicas: sets of endpoints that are replicas for certain.
        floor_ns: resolution of the times.
        options: constants.

    Returns:
        None where no replicas were seen apart or no cell has two members.
    """
    apart = _scale_apart(starts, replicas, options)
    cells = [tuple(e for e in cell if e in starts) for cell in cells]
    cells = [cell for cell in cells if len(cell) > 1]
    if apart is None or not cells:
        return None
    size = max(len(cell) for cell in cells)
    whole = [cell for cell in cells if len(cell) == size]
    looked_at = whole[: options.cells]
    score = {t: 0.0 for t in range(1, size + 1) if size % t == 0}
    for cell in looked_at:
        away = _log_distances(starts, cell, floor_ns)
        for t in score:
            score[t] += _log_likelihood(away, _split(away, t), np.log10(max(apart, floor_ns)), floor_ns, options)
    shrink = min(1.0, options.independent_cells / len(looked_at))
    return StepEvidence({t: s * shrink for t, s in score.items()}, starts, whole, floor_ns)


def _scale_apart(starts: Mapping[int, Float], replicas: Sequence[Members], options: StepOptions) -> float | None:
    """Median distance of replicas, ns; each is compared with the one half the group farther on."""
    found = []
    for group in replicas:
        seen = [e for e in group if e in starts]
        half = len(seen) // 2
        for n in range(len(seen) if half else 0):
            away = np.abs(starts[seen[n]] - starts[seen[(n + half) % len(seen)]])
            if (~np.isnan(away)).sum() >= 2:
                found.append(float(np.nanmedian(away)))
        if len(found) >= options.reference_pairs:
            break
    return float(np.median(found)) if found else None


def _split(away: Float, size: int) -> list[list[int]]:
    """Lots of `size` each: around whoever has the closest fellows, one lot after the other."""
    left = list(range(len(away)))
    parts = []
    while left:
        own = np.where(np.isnan(away), np.inf, away)[np.ix_(left, left)]
        np.fill_diagonal(own, -np.inf)
        order = np.argsort(own, axis=1, kind="stable")[:, :size]
        width = np.take_along_axis(own, order[:, -1:], axis=1)[:, 0] if size > 1 else np.zeros(len(left))
        best = order[int(np.argmin(width))]
        parts.append([left[n] for n in best])
        left = [e for n, e in enumerate(left) if n not in set(best.tolist())]
    return parts


def _log_likelihood(away: Float, parts: list[list[int]], apart: float, floor_ns: float, options: StepOptions) -> float:
    """Mean over pairs of the log-odds of lying as far apart as they do, times the members that are free to."""
    count = len(away)
    label = np.empty(count, np.int64)
    for n, part in enumerate(parts):
        label[part] = n
    low, high = np.triu_indices(count, 1)
    x = away[low, high] - apart
    seen = ~np.isnan(x)
    if not seen.any():
        return 0.0
    same = (label[low] == label[high])[seen]
    x = x[seen]
    close, far = _log_close(x, np.log10(floor_ns) - apart, options), _log_apart(x, options)
    return float(np.where(same, close, far).mean() * (count - 1))


def _log_close(x: Float, floor: float, options: StepOptions) -> Float:
    """Log-density of a tensor group's distance, decades: anywhere from the clock's floor to well under replicas'."""
    width = max(options.close_decades - floor, 1.0)
    inside = 1.0 / (1.0 + np.exp((x - options.close_decades) / options.edge_decades)) / width
    return np.asarray(np.log((1 - options.outliers) * inside + options.outliers / options.outlier_decades))


def _log_apart(x: Float, options: StepOptions) -> Float:
    """Log-density of the distance of replicas on one host, decades: normal around that of other replicas."""
    spread = options.apart_spread_decades
    normal = np.exp(-0.5 * (x / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    return np.asarray(np.log((1 - options.outliers) * normal + options.outliers / options.outlier_decades))
