"""Simulated twins beside the recordings they imitate; docs/simulator.md explains what differs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from capture.reader import read_all
from datamodel.reconstructed.streams import Float, Int
from datamodel.reports.truth import Truth
from reconstruct.streams.stream_builder import build_streams
from simulate.case import write_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario

Place = tuple[int, int]  # host and NIC
PAUSE_NS = 2_500_000  # between messages of one connection; inside one there is none so long
CONTROL_BYTES = 200
SMALLEST_BYTES = 20_000  # what is left of a message whose ready signal came late
ONSET, LAST = 14, 29


@dataclass(frozen=True)
class Seen:
    """What a mirror shows: per pair of places the bytes and bursts, and the job's iterations."""

    bytes: dict[tuple[Place, Place], int]
    bursts_ms: dict[tuple[Place, Place], Float]
    durations_s: Float

    def of(self, stages_apart: bool) -> Iterator[tuple[Place, Place]]:
        """Pairs between pipeline stages (hosts four apart), or between neighbours of a gradient ring."""
        yield from (pair for pair in self.bytes if (abs(pair[0][0] - pair[1][0]) == 4) == stages_apart)

    def burst_ms(self, stages_apart: bool) -> float:
        """Median length of a burst."""
        return float(np.median(np.concatenate([self.bursts_ms[p] for p in self.of(stages_apart)])))

    def bursts(self, stages_apart: bool) -> float:
        """Mean count of bursts of a pair in an iteration."""
        return float(np.mean([len(self.bursts_ms[p]) for p in self.of(stages_apart)])) / (LAST + 1)


def places(addresses: tuple[str, ...], recorded: bool) -> list[Place]:
    """Host and NIC of each address: 10.leaf.host.nic counted from 1 in the recordings, 10.0.host.nic in twins."""
    numbers = [[int(part) for part in a.split(".")] for a in addresses]
    return [(n[2] - recorded, n[3] - 1) for n in numbers]


def lengths_ms(start: Int, end: Int, size: Int) -> Float:
    """Lengths of the bursts that pauses part."""
    order = np.argsort(start, kind="stable")
    start, end, size = start[order], np.maximum.accumulate(end[order]), size[order]
    cut = np.flatnonzero(np.concatenate([[True], start[1:] - end[:-1] > PAUSE_NS]))
    last = np.append(cut[1:], len(start)) - 1
    volume = np.add.reduceat(size, cut)
    found: Float = (end[last] - start[cut])[volume > SMALLEST_BYTES] / 1e6
    return found


def seen(flows: Path, truth: Path, recorded: bool) -> Seen:
    """A case as its mirror shows it."""
    found = build_streams(read_all([flows]).flows)
    place = places(found.addresses, recorded)
    volume: dict[tuple[Place, Place], int] = {}
    bursts: dict[tuple[Place, Place], Float] = {}
    for n in range(len(found)):
        rows = found.rows(n)
        pair = (place[found.src[n]], place[found.dst[n]])
        data = found.bytes[rows] > CONTROL_BYTES
        if data.sum() > LAST:  # the others are connections that were opened and never used
            volume[pair] = volume.get(pair, 0) + int(found.bytes[rows][data].sum())
            bursts[pair] = lengths_ms(found.start_ns[rows][data], found.end_ns[rows][data], found.bytes[rows][data])
    iterations = Truth.model_validate_json(truth.read_bytes()).jobs[0].iterations
    return Seen(volume, bursts, np.diff([end for _, end in iterations]) / 1e9)


def both(name: str, recording: str, shared: Path, folder: Path) -> tuple[Seen, Seen]:
    """The recording and its twin."""
    real = shared / "captures" / recording
    write_case(scenario(name, ScenarioOptions()), folder, 1)
    return (
        seen(real / "mirror.pcap.gz", real / "truth" / "truth.json", recorded=True),
        seen(folder / "flows.parquet", folder / "truth" / "truth.json", recorded=False),
    )


@pytest.fixture(scope="module")
def healthy(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, Seen]:
    """s1-healthy and its twin."""
    return both("twin-healthy", "s1-healthy", shared, tmp_path_factory.mktemp("healthy"))


@pytest.fixture(scope="module")
def slow(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, Seen]:
    """s2-slow-nic and its twin."""
    return both("twin-slow-nic", "s2-slow-nic", shared, tmp_path_factory.mktemp("slow"))


@pytest.mark.parametrize("case", ["healthy", "slow"])
def test_the_same_pairs_move_the_same_bytes(case: str, request: pytest.FixtureRequest) -> None:
    """Bytes of every pair agree to a thousandth: what differs is the control messages that ride along."""
    real, twin = request.getfixturevalue(case)
    assert set(real.bytes) == set(twin.bytes)
    assert all(twin.bytes[p] == pytest.approx(real.bytes[p], rel=1e-3) for p in real.bytes)


@pytest.mark.parametrize("case", ["healthy", "slow"])
def test_healthy_iterations_take_as_long(case: str, request: pytest.FixtureRequest) -> None:
    """Median iteration time before the fault, or of all iterations, within 5 %."""
    real, twin = request.getfixturevalue(case)
    assert np.median(twin.durations_s[: ONSET - 1]) == pytest.approx(np.median(real.durations_s[: ONSET - 1]), rel=0.05)


def test_a_slow_nic_costs_most_of_what_it_really_does(slow: tuple[Seen, Seen]) -> None:
    """The twin's iterations grow by three quarters of what the recording's do or more; the rest is in the docs."""
    real, twin = slow
    grown = [np.median(s.durations_s[ONSET:]) - np.median(s.durations_s[: ONSET - 1]) for s in (real, twin)]
    assert 0.75 < grown[1] / grown[0] < 1.0


def test_a_slow_nics_messages_take_as_long(slow: tuple[Seen, Seen]) -> None:
    """What rank 5 sends, to its ring and to the other stage, at the 90th percentile within 5 %."""
    for pair in (((2, 1), (3, 1)), ((2, 1), (6, 1))):
        real, twin = (float(np.percentile(s.bursts_ms[pair], 90)) for s in slow)
        assert twin == pytest.approx(real, rel=0.05)


@pytest.mark.parametrize(("stages_apart", "rel", "count_rel"), [(False, 0.05, 0.15), (True, 0.25, 0.3)])
def test_bursts_are_as_many_and_as_long(
    healthy: tuple[Seen, Seen], stages_apart: bool, rel: float, count_rel: float
) -> None:
    """Gradient chunks within 5 % in length and 15 % in number, messages between stages within 25 and 30 %."""
    real, twin = healthy
    assert twin.burst_ms(stages_apart) == pytest.approx(real.burst_ms(stages_apart), rel=rel)
    assert twin.bursts(stages_apart) == pytest.approx(real.bursts(stages_apart), rel=count_rel)
