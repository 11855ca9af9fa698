"""Samples of a small job whose times are worked out from how rings and pipelines go, one fault at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Link
from datamodel.frame import empty
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.streams import Float, Int
from diagnose.job_view import JobView
from diagnose.sampled.sampled_job_view import DP, PP, SampledView
from reconstruct.sampled.folding.folded_samples import Points

MS = 1_000_000
MEMBERS = 4  # of each ring; endpoint r of the first stage sends to endpoint MEMBERS + r of the second
STEPS = 2 * (MEMBERS - 1)
PERIOD_MS, RING_MS, MESSAGES_MS = 1000.0, 90.0, (100.0, 300.0, 500.0)
SWITCHES = ("leaf1", "leaf1", "leaf2", "leaf2") * 2
CABLES = (Link(a="leaf1", b="spine1"), Link(a="leaf2", b="spine1"), Link(a="leaf1", b="spine2"))


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong from the middle of the window on.

    Attributes:
        slow: connections (sender, receiver) of rings that send so many times as long a chunk.
        late_ms: endpoint -> by how much longer it computes before its first message and its ring.
        times: see `slow`.
    """

    slow: tuple[tuple[int, int], ...] = ()
    late_ms: dict[int, float] = field(default_factory=dict)
    times: float = 4.0


def job(fault: Fault, *, staged: bool = True, iterations: int = 30, samples: float = 8.0, seed: int = 1) -> SampledView:
    """Two rings of four, one a stage, with messages from each member of the first to one of the second, and back."""
    chance = np.random.default_rng(seed)
    stages = 2 if staged else 1
    ends = [(s * MEMBERS + r, s * MEMBERS + (r + 1) % MEMBERS, DP) for s in range(stages) for r in range(MEMBERS)]
    if staged:
        ends += [(r, MEMBERS + r, PP) for r in range(MEMBERS)] + [(MEMBERS + r, r, PP) for r in range(MEMBERS)]
    slow = np.arange(iterations) > iterations // 2
    extra = max([*fault.late_ms.values(), RING_MS * (fault.times - 1) if fault.slow else 0.0])
    length = PERIOD_MS + np.where(slow, extra, 0.0) + chance.normal(0, 3.0, iterations)
    edges = (1_700_000_000_000 * MS + np.cumsum(length) * MS).astype(np.int64)
    rows = [_points(end, fault, slow, samples, chance) for end in ends]
    src, dst, role = (np.array(column, np.int64) for column in zip(*ends, strict=True))
    return SampledView(
        job=_view(edges, stages),
        points=rows,
        src=src,
        dst=dst,
        role=role,
        quantum_bytes=np.full(len(ends), 1e9),
        whole=True,
        cables=CABLES,
        over=np.zeros((len(ends), len(CABLES)), np.bool_),
    )


def over(view: SampledView, cables: dict[tuple[int, int], int]) -> SampledView:
    """The same job, connections of which were seen to pass cables."""
    seen = view.over.copy()
    for n, ends in enumerate(zip(view.src.tolist(), view.dst.tolist(), strict=True)):
        if ends in cables:
            seen[n, cables[ends]] = True
    return replace(view, over=seen)


def _view(edges: Int, stages: int) -> JobView:
    count = stages * MEMBERS
    names = tuple(f"10.0.0.{n + 1}" for n in range(count))
    place = EndpointLocations(
        names, {n: f"host{n}" for n in range(count)}, dict(enumerate(SWITCHES[:count])), dict.fromkeys(range(count))
    )
    rings = tuple(tuple(range(s * MEMBERS, (s + 1) * MEMBERS)) for s in range(stages))
    return JobView(
        id="job",
        endpoints=np.arange(count),
        edges_ns=edges,
        operations=empty(OPERATIONS),
        stage={n: n // MEMBERS for n in range(count)},
        groups={"dp": rings},
        sharded=False,
        fabric=place,
        window_end_ns=int(edges[-1]),
        last_sent_ns={},
    )


def _points(
    end: tuple[int, int, int],
    fault: Fault,
    slow: np.typing.NDArray[np.bool_],
    samples: float,
    chance: np.random.Generator,
) -> Points:
    number, phase, after = [], [], []
    for i in range(1, len(slow)):
        x = np.sort(chance.random(chance.poisson(samples * (3 if end[2] == DP else 2))))
        when = (_ring if end[2] == DP else _message)(end[0], end[1], x, fault if slow[i] else Fault())
        number.append(np.full(len(x), i))
        phase.append(x)
        after.append(when + chance.normal(0, 2.0, len(x)))
    count = sum(len(x) for x in phase)
    return Points(np.concatenate(number), np.concatenate(phase), np.concatenate(after) * MS, np.zeros(count))


def _message(src: int, dst: int, x: Float, fault: Fault) -> Float:
    """Three messages of 20 ms each way; those of a late rank, and what answers them, come later."""
    late = fault.late_ms.get(min(src, dst), 0.0)
    own = fault.late_ms.get(max(src, dst), 0.0) if src > dst else 0.0
    slot = np.minimum((x * len(MESSAGES_MS)).astype(np.int64), len(MESSAGES_MS) - 1)
    begin = np.array(MESSAGES_MS)[slot] + (50.0 if src > dst else 0.0)
    return np.asarray(begin + late + own + 20.0 * (x * len(MESSAGES_MS) - slot))


def _ring(src: int, dst: int, x: Float, fault: Fault) -> Float:
    """Chunks go round: each step lasts as long as its slowest link, and a link that is done sooner rests.

    Who follows a late rank sends its own chunk in time and stalls until the late one's has come round.
    """
    ring = src // MEMBERS
    slow = {pair for pair in fault.slow if pair[0] // MEMBERS == ring}
    step_ms = RING_MS / STEPS * (fault.times if slow else 1.0)
    busy_ms = step_ms if (src, dst) in slow or not slow else RING_MS / STEPS
    step = np.minimum((x * STEPS).astype(np.int64), STEPS - 1)
    begin = 700.0 + step * step_ms + (x * STEPS - step) * busy_ms
    late = {n % MEMBERS: ms for n, ms in fault.late_ms.items()}
    if late:
        culprit, ms = max(late.items(), key=lambda item: item[1])
        hops = (src % MEMBERS - culprit) % MEMBERS
        begin = np.where(x * STEPS < hops, begin, begin + ms)
    return np.asarray(begin, np.float64)
