"""Flow samples left out where a collector cannot keep up: which, and what the others then stand for."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pytest

from capture.configured_rates import SamplingRates
from capture.sflow.reasons import THINNED_SAMPLES
from capture.sflow.thinning import MOST_THINNING
from datamodel.telemetry.counters import COUNTERS, DROPS
from tests.capture.frames import tcp_frame
from tests.capture.sflow.wire import BEGIN_NS, MS, Fed, counters, datagram, discard, expanded, flow, header, interface

SAMPLES, PER = 12_000, 6
# Headers of 64 sizes, so that a volume is more than a count.
PACKETS = [header(tcp_frame(1, 0), size=200 + 20 * n) for n in range(64)]


def feed_of(agents: int = 3, samples: int = SAMPLES) -> list[bytes]:
    """Datagrams of six samples of four ports an agent, each port with sample numbers and a pool of its own."""
    made, number = [], dict.fromkeys(((a, p) for a in range(agents) for p in range(4)), 0)
    for n in range(samples // PER):
        agent, taken = n % agents, []
        for k in range(PER):
            port = (n * PER + k) % 4
            number[agent, port] += 1
            count = number[agent, port]
            packet = PACKETS[(7 * count + port) % 64]
            taken.append(flow(packet, sequence=count, source=port + 1, in_if=port + 1, pool=1000 * count))
        made.append(datagram(*taken, agent=f"10.255.0.{agent + 1}", sequence=n // agents))
    return made


def thinned(payloads: list[bytes], one_in: int, rates: SamplingRates | None = None) -> Fed:
    """Decode, keeping one in so many."""
    found = Fed(rates)
    found.decoder.thin(one_in)
    return found.feed(*payloads)


@pytest.mark.parametrize("one_in", [2, 4, 16, MOST_THINNING])
def test_volumes_are_unbiased(one_in: int) -> None:
    """Count and bytes of what is kept, times its rate, are those of all samples, within four standard errors.

    So they are for each port of each agent, and the rate of what is kept is the exported one times `one_in`.
    """
    payloads = feed_of()
    less = thinned(payloads, one_in)
    every, kept = grouped(thinned(payloads, 1)), grouped(less)
    assert set(less.frame()["sampling_rate"].tolist()) == {1000 * one_in}
    chance = 1 / one_in
    for group, sizes in every.items():
        for power in (0, 1):  # samples, then bytes
            truth, some = (sizes**power).sum(), (kept[group] ** power).sum()
            sigma = np.sqrt((sizes ** (2 * power)).sum() * (1 - chance) / chance)
            assert abs(some * one_in - truth) < 4 * sigma, (group, power)


def grouped(found: Fed) -> dict[tuple[str, int], npt.NDArray[np.int64]]:
    """Bytes of samples by agent and port; those of all are under ("", 0)."""
    frame, agents = found.frame(), found.book.texts()
    groups = {("", 0): frame["bytes"]}
    for code in np.unique(frame["sampler_address"]).tolist():
        for port in range(1, 5):
            own = (frame["sampler_address"] == code) & (frame["in_if"] == port)
            groups[agents[code], port] = frame["bytes"][own]
    return groups


def test_accounts_are_those_of_all_samples() -> None:
    """Losses, restarts, pools and missing samples are followed before the choice, and rates are those exported."""
    payloads = feed_of()
    payloads = [one for n, one in enumerate(payloads) if n % 10] + payloads[-1:]
    whole, less = (thinned(payloads, one_in).decoder for one_in in (1, 8))
    left_out = less.thinned
    for before, after in zip(whole.exporters(), less.exporters(), strict=True):
        assert (after.lost, after.late, after.duplicates, after.restarts) == (
            before.lost, before.late, before.duplicates, before.restarts,
        )  # fmt: skip
        assert before.lost > 0
        assert (after.sampling_rates, after.warnings) == (before.sampling_rates, before.warnings)
        assert after.datagrams == before.datagrams
        assert after.records + after.rejected[THINNED_SAMPLES] == before.records
    assert json.dumps(whole.state()["sources"]) == json.dumps(less.state()["sources"])
    assert left_out == less.rejected[THINNED_SAMPLES] > 0
    assert whole.thinned == 0


def test_the_choice_is_each_sample_s_own() -> None:
    """The same samples remain after a restart and in another order, and those of 1 in 4 are among those of 1 in 2."""
    payloads = feed_of(samples=1200)

    def remaining(found: Fed) -> set[tuple[str, int, int]]:
        frame = found.frame()
        agents = [found.book.texts()[code] for code in frame["sampler_address"]]
        return set(zip(agents, frame["in_if"].tolist(), frame["time_received_ns"].tolist(), strict=True))

    four, two = thinned(payloads, 4), thinned(payloads, 2)
    assert remaining(four) < remaining(two)
    restarted = Fed()
    restarted.decoder.thin(4)
    restarted.feed(*payloads[:90])
    rows = len(restarted.frame())
    state = restarted.decoder.state()
    other = Fed()
    other.decoder.restore(json.loads(json.dumps(state)))
    other.decoder.thin(4)
    other.feed(*payloads[90:], times_ns=[BEGIN_NS + n * MS for n in range(90, len(payloads))])
    assert rows + len(other.frame()) == len(four.frame())
    assert remaining(restarted) | remaining(other) == remaining(four)
    assert len(thinned(payloads[::-1], 4).frame()) == len(four.frame())


def test_neighbors_are_chosen_independently() -> None:
    """Sample numbers next to one another, of one port or of two, are no more often kept together than by chance."""
    numbers = np.arange(4096)
    payloads = [
        datagram(*(flow(PACKETS[0], sequence=int(n), source=p, in_if=p) for p in (1, 2)), sequence=int(n))
        for n in numbers
    ]
    frame = thinned(payloads, 4).frame()
    when = (frame["time_received_ns"] - frame["time_received_ns"].min()) // 10**6
    kept = np.zeros((2, 4096), np.bool_)
    for row in (0, 1):
        kept[row, when[frame["in_if"] == row + 1]] = True
    assert abs(kept.mean() - 1 / 4) < 0.02
    for first, second in ((kept[0, 1:], kept[0, :-1]), (kept[0, 2:], kept[0, :-2]), (kept[0], kept[1])):
        assert abs((first & second).mean() - 1 / 16) < 4 * np.sqrt(1 / 16 * 15 / 16 / 4096)


def test_only_flow_samples_of_a_known_rate_are_thinned() -> None:
    """Counters, discards and samples without a rate all remain; a configured rate is multiplied like others."""
    payloads = [
        datagram(
            flow(PACKETS[0], sequence=n, rate=0),
            discard(PACKETS[0], reason=1),
            counters(interface(3, in_bytes=n)),
            expanded(PACKETS[0], sequence=n, rate=7, source=(0, 9)),
            sequence=n,
        )
        for n in range(200)
    ]
    found = thinned(payloads, 16)
    assert len(found.frame(COUNTERS)) == len(found.frame(DROPS)) == 200
    rates, counts = np.unique(found.frame()["sampling_rate"], return_counts=True)
    assert rates.tolist() == [0, 7 * 16]
    assert counts[0] == 200
    assert 0 < counts[1] < 50
    configured = thinned(payloads, 16, SamplingRates(otherwise=50)).frame()["sampling_rate"]
    assert set(configured.tolist()) == {800}
    assert len(configured) < 100


def test_thinning_is_undone() -> None:
    """From the next batch on all samples remain again, with the exported rate."""
    payloads = feed_of(samples=1200)
    found = thinned(payloads[:100], 8)
    before = len(found.frame())
    assert before < 150
    found.decoder.thin(1)
    found.feed(*payloads[100:])
    rates, counts = np.unique(found.frame()["sampling_rate"], return_counts=True)
    assert dict(zip(rates.tolist(), counts.tolist(), strict=True)) == {1000: 600, 8000: before}


def test_a_discarded_sample_stands_for_what_was_thinned() -> None:
    """A sampled packet that the switch then dropped is a row of `drops` for as many packets as its rate now says."""
    gone = 1 << 30 | 258
    payloads = [datagram(flow(PACKETS[0], sequence=n, out_if=gone), sequence=n) for n in range(400)]
    found = thinned(payloads, 4)
    drops = found.frame(DROPS)
    assert set(drops["packets"].tolist()) == {4000}
    assert len(drops) == len(found.frame())
