"""Who exports, what was lost, which rate is true, and what survives a restart."""

from __future__ import annotations

import json

import numpy as np
import pytest

from capture.configured_rates import SamplingRates
from capture.exporters.exporter_table import MOST_EXPORTERS
from capture.sflow.samples import MOST_SOURCES
from datamodel.telemetry.counters import COUNTERS
from tests.capture.frames import tcp_frame
from tests.capture.sflow.wire import BEGIN_NS, MS, Fed, batch, counters, datagram, fed, flow, header, interface, words

PACKET = header(tcp_frame(1, 0))


def series(
    count: int, *, told: int = 100, true: int = 100, skip: int = 1, seed: int = 1, drops: int = 0
) -> list[bytes]:
    """Datagrams of one sample each; the pool grows as if one in `true` was taken, `skip` sample numbers at a time."""
    chance, pool, out = np.random.default_rng(seed), 0xFFFFFF00, []
    for n in range(count):
        sample = flow(PACKET, sequence=n * skip, rate=told, pool=pool, drops=n * drops)
        out.append(datagram(sample, sequence=n))
        pool += sum(int(g) for g in chance.geometric(1 / true, skip))
    return out


def test_an_exporter_is_an_agent_with_a_sub_agent() -> None:
    """Whatever address datagrams come from; two sub-agents number their datagrams apart."""
    told = fed(
        *(
            datagram(sequence=n, agent=a, sub_agent=s)
            for n, a, s in ((5, "10.0.0.1", 0), (9, "10.0.0.1", 1), (7, "::9", 0))
        )
    )
    assert [(e.agent, e.domain, e.lost, e.datagrams) for e in told.decoder.exporters()] == [
        ("10.0.0.1", 0, 0, 1), ("10.0.0.1", 1, 0, 1), ("::9", 0, 0, 1),
    ]  # fmt: skip


def test_lost_and_repeated_datagrams() -> None:
    """Sequence gaps are losses; a datagram that comes twice is decoded once."""
    one = [datagram(flow(PACKET, sequence=n), sequence=n, uptime_ms=1000 + n) for n in (1, 2, 5, 5, 6)]
    told = fed(*one)
    notes = told.notes()
    assert (notes.lost, notes.lost_unit, notes.duplicates, notes.records) == (2, "datagrams", 1, 4)
    assert len(told.rows()) == 4


def test_a_restart_is_no_loss() -> None:
    """Uptime and numbers begin anew together, and with them pools and sample numbers."""
    before = [datagram(flow(PACKET, sequence=900 + n, pool=n), sequence=500 + n, uptime_ms=10**7 + n) for n in range(3)]
    after = [datagram(flow(PACKET, sequence=n, pool=n), sequence=n, uptime_ms=n) for n in range(3)]
    notes = fed(*before, *after).notes()
    assert (notes.lost, notes.restarts, notes.warnings) == (0, 1, ())


def test_a_true_rate_is_not_doubted() -> None:
    """Chance alone does not contradict a rate, nor do pools that wrap or datagrams that were lost."""
    for seed in range(20):
        every = series(400, seed=seed)
        assert fed(*every).notes().warnings == ()
        assert fed(*every[::3]).notes().warnings == ()


@pytest.mark.parametrize("true", [70, 150, 1000])
def test_a_rate_that_the_pool_contradicts_is_named(true: int) -> None:
    """The source, what it tells and what its pool shows."""
    (warning,) = fed(*series(1000, told=100, true=true)).notes().warnings
    assert warning.startswith("sampling rate and sample pool disagree: interface 3 reports 1:100 but samples 1:")
    assert abs(int(warning.rpartition(":")[2]) / true - 1) < 0.12


def test_a_few_samples_prove_nothing() -> None:
    """Below a hundred samples no rate is called wrong."""
    assert fed(*series(90, told=100, true=300)).notes().warnings == ()


def test_samples_missing_without_a_lost_datagram() -> None:
    """Numbers of samples jump though those of datagrams do not: the agent lost them. A lost datagram explains."""
    (warning,) = fed(*series(5, skip=3)).notes().warnings
    assert warning == "samples missing though no datagram was lost: interface 3 8"
    assert fed(*series(9)[::3]).notes().warnings == ()


def numbered(*numbers: int) -> list[bytes]:
    """Datagrams of one sample each, numbered alike."""
    return [datagram(flow(PACKET, sequence=n, pool=1000 * n), sequence=n, uptime_ms=1000 + n) for n in numbers]


@pytest.mark.parametrize("order", [(1, 2, 4, 3, 5), (1, 4, 2, 3, 5, 6), (1, 2, 4, 5, 3, 6), (1, 3, 5, 2, 4, 6)])
def test_samples_that_came_late_are_not_missing(order: tuple[int, ...]) -> None:
    """Datagrams that overtook one another carried all samples: there is nothing to warn of."""
    assert fed(*numbered(*order)).notes().warnings == ()


def test_samples_behind_the_cut_are_not_missing() -> None:
    """Where the capture cut a datagram, the samples that it held are not the agent's to answer for."""
    whole = [
        datagram(*(flow(PACKET, sequence=3 * n + k) for k in range(3)), sequence=n, uptime_ms=1000 + n)
        for n in range(20)
    ]
    assert fed(*(each[:-100] for each in whole), cut=True).notes().warnings == ()


def test_samples_dropped_by_the_agent_are_summed() -> None:
    """The drop counter of a source tells what lack of resources cost."""
    (warning,) = fed(*series(5, drops=7)).notes().warnings
    assert warning == "agent dropped 28 samples for lack of resources"


def test_rates_are_listed_and_zero_is_unknown() -> None:
    """A sample that tells no rate keeps 0 in its record and is counted."""
    told = fed(datagram(*(flow(PACKET, sequence=n, rate=rate) for n, rate in enumerate((512, 0, 256, 512)))))
    assert [row["sampling_rate"] for row in told.rows()] == [512, 0, 256, 512]
    assert told.notes().sampling_rates == (0, 256, 512)
    assert told.notes().warnings == ("1 flow samples without a sampling rate",)


def test_a_configured_rate_replaces_the_told_one() -> None:
    """By agent or for all others; that they differ is said, and where they agree nothing is."""
    rates = SamplingRates({"10.255.0.1": 100, "2001:db8::1": 7, "a name": 5}, 9)
    told = Fed(rates).feed(*(datagram(flow(PACKET, rate=100), agent=a) for a in ("10.255.0.1", "2001:db8::1", "::5")))
    assert [row["sampling_rate"] for row in told.rows()] == [100, 7, 9]
    warnings = [e.warnings for e in told.decoder.exporters()]
    text = "1 flow samples give another sampling rate than the configured one, which replaces it"
    assert warnings == [(), (text,), (text,)]
    unknown = Fed(SamplingRates(otherwise=50)).feed(datagram(flow(PACKET, rate=0)))
    assert unknown.row()["sampling_rate"] == 50


def test_what_belongs_to_no_exporter_is_counted() -> None:
    """Cut before the sub-agent is known, or an agent address of no known type."""
    whole = datagram(flow(PACKET))
    told = fed(whole[:4], whole[:20], words(5, 3) + bytes(40))
    assert told.decoder.exporters() == ()
    assert told.decoder.rejected == {
        "sFlow datagram cut off before its samples": 2,
        "sFlow agent address that is neither IPv4 nor IPv6": 1,
    }


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (datagram(flow(PACKET), announced=3), "sFlow datagram that ends before the samples it announces"),
        (datagram(flow(PACKET)) + bytes(12), "sFlow datagram with bytes behind its last sample"),
        (datagram(flow(PACKET), words(1, 999)), "sFlow sample longer than its datagram"),
        (datagram(flow(PACKET), words(1, 8) + bytes(8)), "sFlow sample too short for its own fields"),
        (datagram(flow(PACKET, words(1, 999))), "sFlow structure longer than its sample"),
        (datagram(flow(PACKET, words(1040, 0))), "sFlow structure too short for its own fields"),
        (datagram(flow(PACKET).replace(words(1) + PACKET, words(9) + PACKET)),
         "sFlow sample that ends before the structures it announces"),
    ],
)  # fmt: skip
def test_lies_about_lengths_and_counts(payload: bytes, reason: str) -> None:
    """Each is counted under its own reason, and the sample beside it is decoded."""
    told = fed(payload)
    assert (len(told.rows()), told.notes().rejected) == (1, {reason: 1})


def test_a_datagram_longer_than_udp_is_not_followed() -> None:
    """65,535 bytes at most; the samples within are decoded."""
    sample = flow(PACKET)
    told = fed(datagram(*[sample] * 800))
    assert len(told.rows()) == (65_535 - 28) // len(sample)
    assert "sFlow datagram longer than UDP can carry; the rest was not read" in told.notes().rejected


def test_a_batch_of_any_size_comes_out_whole() -> None:
    """More records, counters and exporters than fit at once: nothing is lost or changes places."""
    samples = [flow(header(tcp_frame(1, n % 1000)), sequence=n) for n in range(6)]
    payloads = [
        datagram(*samples, counters(interface(n)), agent=f"10.{n % 3000 >> 8}.{n % 256}.1", sequence=n // 3000)
        for n in range(9000)
    ]
    told = fed(*payloads)
    rows = told.rows()
    assert len(rows) == 54_000
    assert [row["bytes"] for row in rows[::6]] == [40] * 9000
    assert [row["interface"] for row in told.rows(COUNTERS)] == list(range(9000))


def test_a_hundred_thousand_exporters_and_sources() -> None:
    """Spoofed ones fill the tables and no more: a quarter of the exporters makes room, and is counted."""
    told = Fed()
    empty, sample = datagram(), flow()  # the agent's address and the source lie behind 8 and 12 bytes
    agents = range(10 << 24, (10 << 24) + MOST_EXPORTERS + 1000)
    told.take(batch([empty[:8] + agent.to_bytes(4) + empty[12:] for agent in agents]))
    known, forgotten = told.decoder.exporters_known, told.decoder.forgotten
    assert (known, forgotten, told.decoder.refused) == (MOST_EXPORTERS * 3 // 4 + 1000, MOST_EXPORTERS // 4, 0)
    numbers = [range(700 * n, 700 * (n + 1)) for n in range(95)]
    sources = [
        datagram(*(sample[:12] + source.to_bytes(4) + sample[16:] for source in of), sequence=n)
        for n, of in enumerate(numbers)
    ]
    full = fed(*sources).notes().rejected["sFlow data source of one too many; its rate is not checked"]
    assert full == MOST_SOURCES // 700 * 700 - 700  # of an agent with too many all give way to new ones


def test_a_restored_decoder_goes_on() -> None:
    """Through JSON: sequence numbers, sources and accounts; a datagram seen before is still a duplicate."""
    parts = series(300, true=300)
    before = Fed().feed(*parts[:150])
    after = Fed()
    after.decoder.restore(json.loads(json.dumps(before.decoder.state())))
    after.feed(*parts[140:], times_ns=[BEGIN_NS + n * MS for n in range(140, 300)])
    assert after.notes() == fed(*parts[:150], *parts[140:150], *parts[150:], times_ns=[
        BEGIN_NS + n * MS for n in [*range(150), *range(140, 150), *range(150, 300)]]).notes()  # fmt: skip
    assert after.notes().duplicates == 10


@pytest.mark.parametrize("key", ["exporters", "agents", "sources", "strays", "refused"])
@pytest.mark.parametrize("value", ["AAAA", "?", None, [1], {}])
def test_a_damaged_state_changes_nothing(key: str, value: object) -> None:
    """It is refused, and the decoder stays as it was."""
    told = fed(datagram(flow(PACKET)))
    before = told.decoder.state()
    with pytest.raises((ValueError, KeyError, TypeError)):
        told.decoder.restore({**before, key: value})
    assert told.decoder.state() == before
    told.feed(datagram(flow(PACKET), sequence=2))
    assert len(told.rows()) == 2
