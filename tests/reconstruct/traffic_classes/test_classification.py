"""What a conversation is for, by who its ends are and how they behave."""

from collections.abc import Iterable

import numpy as np
import pytest

from datamodel.reconstructed.streams import Streams
from datamodel.reconstructed.traffic import (
    MANAGEMENT,
    ROLLOUT,
    SERVING,
    STORAGE,
    TRAFFIC_CLASSES,
    TRAINING,
    UNKNOWN,
    WEIGHT_SYNC,
)
from reconstruct.traffic_classes.classification import ClassifiedTraffic, KnownJobs, classify_traffic
from reconstruct.traffic_classes.endpoint_roles import KnownEndpoints
from reconstruct.traffic_classes.options import TrafficOptions
from tests.reconstruct.traffic_classes.hand_made import SECOND, streams

MB = 1 << 20
ANY = 1 << 32  # less this a name holds ports


def tcp(source: int, destination: int) -> int:
    """Name of a stream between two ports."""
    return (source << 16 | destination) - ANY


def classified(
    found: Streams, job: tuple[int, ...] = (), edges_s: tuple[float, ...] = (), **known: tuple[int, ...]
) -> ClassifiedTraffic:
    """The streams classified, with a job of some endpoints."""
    size = len(found.addresses)
    job_of = np.full(size, -1)
    job_of[list(job)] = 0

    def marked(name: str) -> np.ndarray:
        return np.isin(np.arange(size), known.get(name, ()))

    ends = KnownEndpoints(job_of, marked("service"), marked("computes"), marked("stepping"))
    own = np.flatnonzero(np.isin(found.src, job) & np.isin(found.dst, job))
    edges = np.array(edges_s) * SECOND
    jobs = KnownJobs([edges.astype(np.int64)], [own]) if job else KnownJobs([], [])
    none = found.take(np.zeros(0, np.int64))
    return classify_traffic(found, none, ends, jobs, np.zeros(len(found), np.bool_), TrafficOptions())


def classes_of(found: ClassifiedTraffic, endpoint: int) -> set[str]:
    """Classes of what an endpoint sends."""
    rows = found.traffic.take((found.traffic["endpoint"] == endpoint) & (found.traffic["sent_bytes"] > 0))
    return {TRAFFIC_CLASSES[n] for n in rows["traffic_class"].tolist()}


def prompts(src: int, dst: int, seed: int) -> tuple[int, int, int, list[tuple[float, float, int]]]:
    """Keys and values of some prompts."""
    random = np.random.default_rng(seed)
    start = np.sort(random.random(12) * 20).tolist()
    return src, dst, 5, [(t, t + 0.01, int(MB * random.lognormal(1, 1))) for t in start]


def test_keys_and_values_are_serving_with_goodput_of_each_pair() -> None:
    """Two endpoints that only send, two that only receive."""
    found = classified(streams([prompts(a, b, 4 * a + b) for a in (0, 1) for b in (2, 3)]))
    assert classes_of(found, 0) == classes_of(found, 1) == {TRAFFIC_CLASSES[SERVING]}
    assert len(found.serving) == 4
    assert found.serving["transfers"].tolist() == [12] * 4
    first = found.serving.take([0])
    assert first["goodput_bps"][0] == pytest.approx(8 * first["bytes"][0] / 0.12, rel=1e-6)


def test_a_hub_is_a_store_and_what_is_small_is_management() -> None:
    """Ten clients of one endpoint: files by RDMA; calls to its other port."""
    files = [(n, 20, 5, [(1, 2, 9 * MB)]) for n in range(10)]
    calls = [(n, 20, tcp(50_000, 8443), [(1, 1.1, 900)]) for n in range(10, 12)]
    found = classified(streams([*files, *calls]))
    assert classes_of(found, 3) == {TRAFFIC_CLASSES[STORAGE]}
    assert classes_of(found, 11) == {TRAFFIC_CLASSES[MANAGEMENT]}


def test_an_endpoint_without_a_gpu_is_a_store() -> None:
    """Where the inventory lists GPUs, whatever the number of its peers."""
    found = classified(streams([(0, 1, 5, [(1, 2, 9 * MB)])]), computes=(0,))
    assert classes_of(found, 0) == {TRAFFIC_CLASSES[STORAGE]}


def rl(syncs: Iterable[int]) -> Streams:
    """A job of two ranks that gives 5 its weights after some of ten iterations; 5 passes them on to 6 and answers."""
    ring = [(a, 1 - a, 3, [(2 * n + 1.0, 2 * n + 1.2, 8 * MB) for n in range(10)]) for a in (0, 1)]
    weights = [(a, b, 4, [(2 * n + 1.3 + late, 2 * n + 1.5 + late, 64 * MB) for n in syncs])
               for a, b, late in ((0, 5, 0), (5, 6, 0.1))]  # fmt: skip
    answers = [(5, 0, tcp(10_002, 50_000), [(2 * n + 0.4, 2 * n + 0.5, 2 * MB) for n in range(10)])]
    return streams([*ring[:1], *weights[:1], *ring[1:], *answers, *weights[1:]])


def test_takers_of_weights_stay_with_their_job() -> None:
    """The chain too; the time of a synchronization is from its first byte to its last."""
    found = classified(rl(range(10)), (0, 1), tuple(2 * n + 1.2 for n in range(10)))
    (moved,) = found.weights
    assert moved.takers.endpoints.tolist() == [5, 6]
    assert (moved.syncs.end_ns - moved.syncs.start_ns).tolist() == [300_000_000] * 10
    assert moved.gaps_ns.tolist() == [1_400_000_000] * 9
    assert classes_of(found, 0) == {TRAFFIC_CLASSES[TRAINING], TRAFFIC_CLASSES[WEIGHT_SYNC]}
    assert classes_of(found, 5) == {TRAFFIC_CLASSES[WEIGHT_SYNC], TRAFFIC_CLASSES[ROLLOUT]}


@pytest.mark.parametrize("syncs", [range(3, 10, 4), range(2, 10, 4), range(0, 10, 4)])
def test_weights_of_every_fourth_iteration_have_takers(syncs: range) -> None:
    """However many of ten iterations lie before the first ones and behind the last ones."""
    found = classified(rl(syncs), (0, 1), tuple(2 * n + 1.2 for n in range(10)))
    (moved,) = found.weights
    assert moved.takers.endpoints.tolist() == [5, 6]
    assert (moved.syncs.end_ns - moved.syncs.start_ns).tolist() == [300_000_000] * len(syncs)


@pytest.mark.parametrize("given", [(0, 1), (0, 5), (4, 9), (3,)])
def test_what_is_given_in_few_iterations_is_no_weights(given: tuple[int, ...]) -> None:
    """What a job begins with; every fifth of ten iterations, a checkpoint; and what is given once."""
    found = classified(rl(given), (0, 1), tuple(2 * n + 1.2 for n in range(10)))
    assert found.weights == ()


def exchange(seconds: float, size: int = MB) -> Streams:
    """Two endpoints that send each other messages of one size."""
    every = [(t / 5, t / 5 + 0.01, size) for t in range(int(5 * seconds))]
    return streams([(0, 1, 5, every), (1, 0, 5, every)])


def test_an_exchange_is_serving_only_where_something_shows_it() -> None:
    """In steps, or for long enough to be found in a job; else it is unknown."""
    assert classes_of(classified(exchange(10)), 0) == {TRAFFIC_CLASSES[UNKNOWN]}
    assert classes_of(classified(exchange(10), stepping=(0, 1)), 0) == {TRAFFIC_CLASSES[SERVING]}
    assert classes_of(classified(exchange(40)), 0) == {TRAFFIC_CLASSES[SERVING]}
