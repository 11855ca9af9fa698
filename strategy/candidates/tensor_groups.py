"""Who computes in step: endpoints of one host and stage that belong to one tensor group, by when they begin to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.medians import row_medians
from strategy.closure import Members
from strategy.options import StepOptions
from strategy.traffic.stream_profiles import StreamProfiles

NEVER = -1


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """How likely cells of endpoints fall into groups that compute in step.

    Attributes:
        log_likelihood: size of a group -> log-likelihood of the cells' distances.
        starts: endpoint -> (iterations,) start of its last messages.
        cells: endpoints of one host and stage, all cells of the commonest size.
        floor_ns: resolution of the times.
        apart_ns: distance of replicas.
        cell_size: endpoints of a cell, those included that were not seen.
        options: constants.
    """

    log_likelihood: Mapping[int, float]
    starts: Mapping[int, Float]
    cells: Sequence[Members]
    floor_ns: float
    apart_ns: float = 0.0
    cell_size: int = 0
    options: StepOptions = field(default_factory=StepOptions)

    def groups(self, size: int) -> tuple[Members, ...]:
        """The groups of `size` endpoints of all cells, members ascending."""
        away = _log_distances(self.starts, self.cells, self.floor_ns, self.apart_ns)
        labels = _split(away, size, self.cell_size - away.shape[1], self.options)
        found = []
        for cell, label in zip(np.array(self.cells), labels, strict=True):
            found += [tuple(sorted(cell[label == n].tolist())) for n in range(int(label.max()) + 1)]
        return tuple(sorted(found))


def _log_distances(starts: Mapping[int, Float], cells: Sequence[Members], floor_ns: float, apart_ns: float) -> Float:
    """(cells, n, n) distances of endpoints of cells of one size, decades of that of replicas."""
    away = np.stack([distances(np.stack([starts[e] for e in cell])) for cell in cells])
    return np.asarray(np.log10(np.maximum(away, floor_ns)) - np.log10(max(apart_ns, floor_ns)))


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
    return row_medians(np.abs(seen[:, None, :] - seen[None, :, :]))


def measure_steps(
    starts: Mapping[int, Float],
    cells: Sequence[Members],
    replicas: Sequence[Members],
    floor_ns: float,
    options: StepOptions,
    cell_size: int = 0,
) -> StepEvidence | None:
    """Compare every even split of the cells into groups.

    Members of a group begin within a fraction of the time that replicas lie apart: a tensor group sums up every layer's
    results, replicas meet once an iteration. Replicas for certain are members of one gradient group on different
    hosts; their median distance is the scale of what is apart.

    Args:
        starts: endpoint -> (iterations,) start of its last message to a neighboring stage.
        cells: endpoints of one host and stage.
        replicas: sets of endpoints that are replicas for certain.
        floor_ns: resolution of the times.
        options: constants.
        cell_size: endpoints of a cell, those included that are behind switches which export nothing.

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
    away = _log_distances(starts, looked_at, floor_ns, apart)
    floor = float(np.log10(floor_ns / max(apart, floor_ns)))
    shrink = min(1.0, options.independent_cells / len(looked_at))
    cell_size = max(size, cell_size)
    sizes = [t for t in range(1, cell_size + 1) if cell_size % t == 0]
    score = {t: _log_likelihood(away, t, cell_size - size, floor, shrink, options) for t in sizes}
    return StepEvidence(score, starts, whole, floor_ns, apart, cell_size, options)


def _scale_apart(starts: Mapping[int, Float], replicas: Sequence[Members], options: StepOptions) -> float | None:
    """Median distance of replicas, ns; each is compared with the one half the group farther on."""
    found: list[float] = []
    for group in replicas:
        seen = [e for e in group if e in starts]
        half = len(seen) // 2
        if half:
            own = np.stack([starts[e] for e in seen])
            away = np.abs(own - np.roll(own, -half, axis=0))
            found += row_medians(away[(~np.isnan(away)).sum(axis=1) >= 2]).tolist()
        if len(found) >= options.reference_pairs:
            break
    return float(np.median(found)) if found else None


def _split(away: Float, size: int, unseen: int, options: StepOptions) -> Int:
    """(cells, n) number of each endpoint's group: formed greedily, each time around the one with the closest neighbors.

    Where members are `unseen`, it is open which groups they are of: as many groups as all make, joined by distance.
    """
    own, (cells, members) = np.where(np.isnan(away), np.inf, away), away.shape[:2]
    label, cell = np.tile(np.arange(members), (cells, 1)), np.arange(cells)[:, None]
    if unseen > 0:
        for n, of_cell in enumerate(own):
            for group, part in enumerate(_joined_by_distance(of_cell, size, (members + unseen) // size, options)):
                label[n, part] = group
        return label
    if size == 1:
        return label
    own[:, np.arange(members), np.arange(members)] = -np.inf
    left, group = label.copy(), 0
    while left.shape[1] > size:
        near = own[cell[:, :, None], left[:, :, None], left[:, None, :]]
        order = np.argsort(near, axis=2, kind="stable")[:, :, :size]
        width = np.take_along_axis(near, order[:, :, -1:], axis=2)[:, :, 0]
        best = order[cell[:, 0], np.argmin(width, axis=1)]
        label[cell, left[cell, best]] = group
        kept = np.ones(left.shape, np.bool_)
        kept[cell, best] = False
        left, group = left[kept].reshape(cells, -1), group + 1
    label[cell, left] = group
    return label


def _joined_by_distance(away: Float, size: int, groups: int, options: StepOptions) -> list[list[int]]:
    """Join the sets whose members lie closest, none to more than `size`, until no more than so many groups are left.

    Fewer are left where a whole group was not seen: what lies as close as those joined before, or closer than replicas
    where none were, is joined too.
    """
    parts, widest, limit = [[n] for n in range(len(away))], -np.inf, options.close_decades
    while True:
        near = [
            (float(away[np.ix_(parts[a], parts[b])].max()), a, b)
            for a in range(len(parts))
            for b in range(a + 1, len(parts))
            if len(parts[a]) + len(parts[b]) <= size
        ]
        if not near:
            return parts
        width, a, b = min(near)
        if len(parts) <= groups and width > limit:
            return parts
        widest = max(widest, width)
        limit = widest + 2 * options.spread_decades
        parts[a] += parts.pop(b)


def _log_likelihood(away: Float, size: int, unseen: int, floor: float, shrink: float, options: StepOptions) -> float:
    """Log-likelihood of the cells' distances where groups of `size` compute in step.

    Tensor groups of a job have one scale of distances, and replicas on one host another. Neither is known, so both are
    integrated over: that of tensor groups lies anywhere from the clock's floor to well under the reference, that of
    replicas around the reference or, where what they share on a host delays all, below it.

    Args:
        away: (cells, n, n) log distances of each cell's endpoints, decades of the reference.
        size: of a group.
        unseen: members of each cell that were not seen.
        floor: the clock's, decades of the reference.
        shrink: weight of each cell. That of a pair is such that those of a cell count as often as members are free.
        options: constants.
    """
    label = _split(away, size, unseen, options)
    low, high = np.triu_indices(away.shape[1], 1)
    x, same = away[:, low, high], label[:, low] == label[:, high]
    seen = ~np.isnan(x)
    weight = np.broadcast_to(shrink * (away.shape[1] - 1) / np.maximum(seen.sum(axis=1), 1)[:, None], x.shape)
    x, same, weight = x[seen], same[seen], weight[seen]
    lowest = min(floor, options.close_decades - 1.0)
    close = np.arange(lowest, options.close_decades, options.scale_step_decades)
    far = np.arange(options.shared_delay_decades, 2 * options.apart_spread_decades, options.scale_step_decades)
    around = np.exp(-0.5 * (far / options.apart_spread_decades) ** 2)
    likely = (1 - options.shared_delay) * around / around.sum() + options.shared_delay / len(far)
    return _integrated(x[same], weight[same], close, np.full(len(close), 1 / len(close)), options) + _integrated(
        x[~same], weight[~same], far, likely, options
    )


def _integrated(x: Float, weight: Float, scales: Float, prior: Float, options: StepOptions) -> float:
    """Log-likelihood of distances that are normal around one scale, over the prior of that scale."""
    spread = options.spread_decades
    normal = np.exp(-0.5 * ((x[:, None] - scales) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    log = np.log((1 - options.outliers) * normal + options.outliers / options.outlier_decades)
    return float(logsumexp(weight @ log, b=prior))
