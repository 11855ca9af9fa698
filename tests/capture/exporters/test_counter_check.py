"""Sampled volume is held against interface counters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from capture.configured_rates import SamplingRates
from capture.exporters.counter_check import CounterMismatch, Reconciliation, reconcile
from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from capture.sflow.sflow_decoder import SflowDecoder
from capture.tables.address_book import AddressBook
from datamodel.frame import Frame, concat
from datamodel.telemetry.counters import COUNTERS
from datamodel.telemetry.flows import FLOWS

SECOND = 10**9
CAPTURES = ("s1-healthy", "s2-slow-nic", "s3-straggler", "s4-two-jobs", "s7-fsdp", "s10-jitter")


def sampled(*, true: int, told: int, seed: int, packets: int = 200_000, direction: int = 0) -> tuple[Frame, Frame]:
    """Ten seconds of packets at a port, one in `true` sampled by chance, and the counter of the port each second."""
    chance = np.random.default_rng(seed)
    size = chance.choice([64, 300, 1500], packets)
    when = np.sort(chance.integers(0, 10 * SECOND, packets))
    taken = chance.random(packets) < 1 / true
    counted = np.concatenate([[0], np.cumsum(np.bincount(when // SECOND, size + 18, 10))]).astype(np.int64)
    port, counter = ("out_if", "out_bytes") if direction == 1 else ("in_if", "in_bytes")
    count = int(taken.sum())
    zeros = np.zeros(count, np.int64)
    flows = Frame(FLOWS, {
        "time_flow_start_ns": when[taken], "time_flow_end_ns": when[taken], "src_addr": zeros, "dst_addr": zeros,
        "sampler_address": zeros, "bytes": size[taken], "packets": zeros + 1, "sampling_rate": zeros + told,
        port: zeros + 3, "flow_direction": zeros + direction,
    })  # fmt: skip
    counters = Frame(COUNTERS, {
        "time_ns": np.arange(11) * SECOND, "sampler_address": np.zeros(11), "interface": np.full(11, 3),
        counter: counted + 5000,
    })  # fmt: skip
    return flows, counters


@pytest.mark.parametrize("direction", [0, 1, 255])
def test_a_true_rate_is_not_doubted(direction: int) -> None:
    """What chance does to an estimate is no disagreement, however often it is tried."""
    for seed in range(15):
        for rate in (10, 1000):
            assert reconcile(*sampled(true=rate, told=rate, seed=seed, direction=direction)) == []


@pytest.mark.parametrize(("true", "told"), [(100, 200), (200, 100), (50, 1), (100, 75)])
@pytest.mark.parametrize("direction", [0, 1])
def test_a_wrong_rate_is_found_and_estimated(true: int, told: int, direction: int) -> None:
    """The interface is named with the rate that would agree, and its error is what chance allows."""
    for seed in range(10):
        (found,) = reconcile(*sampled(true=true, told=told, seed=seed, direction=direction))
        assert (found.sampler_address, found.domain, found.interface) == (0, 0, 3)
        assert (found.direction, found.exported_rate) == ("out" if direction else "in", told)
        assert abs(found.likely_rate / true - 1) < 4 * 1.5 / np.sqrt(found.samples)
        assert found.sigma_bytes < found.estimated_bytes


def test_pieces_give_what_all_records_give() -> None:
    """Records that come in pieces, in any order of time, add up to the same."""
    flows, counters = sampled(true=100, told=300, seed=1)
    reconciliation = Reconciliation(counters)
    for part in np.array_split(np.random.default_rng(1).permutation(len(flows)), 7):
        reconciliation.add(flows.take(part))
    (found,) = reconciliation.disagreements()
    whole = only(flows, counters)
    assert (found.samples, found.counted_bytes, found.interface) == (whole.samples, whole.counted_bytes, 3)
    assert found.likely_rate == pytest.approx(whole.likely_rate)
    assert found.sigma_bytes == pytest.approx(whole.sigma_bytes)


def test_the_stated_noise_is_the_true_one() -> None:
    """Over many trials the estimate scatters by sigma, no more and no less, and is not biased."""
    deviations = []
    for seed in range(200):
        found = only(*sampled(true=100, told=50, seed=seed, packets=40_000))
        deviations.append((found.estimated_bytes * 2 - found.counted_bytes) / (found.sigma_bytes * 2))
    assert abs(np.mean(deviations)) < 0.25
    assert 0.85 < np.std(deviations) < 1.15


def only(flows: Frame, counters: Frame) -> CounterMismatch:
    """The only disagreement."""
    (found,) = reconcile(flows, counters)
    return found


def test_time_with_a_reset_counter_is_left_out() -> None:
    """A counter that began anew says nothing about the interval in which it did, nor one that is unknown."""
    flows, counters = sampled(true=100, told=100, seed=1)
    count = counters["in_bytes"].copy()
    count[5:] -= count[5]
    assert reconcile(flows, counters.replace(in_bytes=count)) == []
    count[7] = -1
    assert reconcile(flows, counters.replace(in_bytes=count)) == []


def test_what_cannot_be_judged_is_not() -> None:
    """Few samples, no counters, unknown rates, records already scaled, and rows about one priority."""
    flows, counters = sampled(true=100, told=300, seed=1)
    assert len(reconcile(flows, counters)) == 1
    assert reconcile(flows.take(np.arange(90)), counters.take([0, 10])) == []
    assert reconcile(flows, counters.take([0])) == []
    assert reconcile(flows.replace(sampling_rate=np.zeros(len(flows))), counters) == []
    assert reconcile(flows.replace(prescaled=np.ones(len(flows), bool)), counters) == []
    assert reconcile(flows, counters.replace(priority=np.full(11, 3))) == []
    assert reconcile(flows.replace(sampler_address=np.ones(len(flows))), counters) == []


@pytest.mark.parametrize("name", CAPTURES)
def test_real_switches_agree_with_their_counters(name: str, shared: Path) -> None:
    """Open vSwitch samples 1 in 32: no interface disagrees; were 1 in 64 told, all that carry much would."""
    book, parts = AddressBook(), list[Frame]()
    decoder = SflowDecoder(book, SamplingRates())
    for batch in read_datagrams(shared / "captures" / name / "sflow.pcap.gz", IngestLog()):
        parts += decoder.feed(batch)
    flows, counters = concat(FLOWS, parts), concat(COUNTERS, decoder.take_counters())
    assert reconcile(flows, counters) == []
    wrong = reconcile(flows.replace(sampling_rate=flows["sampling_rate"] * 2), counters)
    assert len(wrong) >= 16
    assert all(abs(found.likely_rate - 32) < 8 for found in wrong)
