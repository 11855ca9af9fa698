"""No datagram takes the decoders down, fills their memory, or touches what another exporter sends."""

from __future__ import annotations

import resource
import struct
import time
from collections.abc import Sequence

import numpy as np
import pytest

from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import Datagrams
from capture.exporters.exporter_table import MOST_EXPORTERS
from capture.netflow.templates.template_table import MOST_TEMPLATES
from datamodel.telemetry.exporter_stats import ExporterStats
from tests.capture.batches import arrived
from tests.capture.export_bytes import flow_sample, flow_set, ipfix, netflow5, record5, sflow, template
from tests.capture.frames import ethernet, ip, tcp
from tests.fuzz.mutation import mutated
from tests.fuzz.seeds import export_datagrams

ATTACKER, HONEST = 0xFFFF0A000001, 0xFFFF0A000002
FIELDS = ((8, 4), (12, 4), (4, 1), (1, 8), (2, 8), (152, 8), (153, 8))
START_MS = 1_700_000_000_000
MUTATED = 100_000


def sent(datagrams: list[tuple[int, bytes]], first_ns: int = 10**18) -> Datagrams:
    """A batch of datagrams from (source address, payload)."""
    times_ns = first_ns + np.arange(len(datagrams)) * 1000
    return arrived([payload for _, payload in datagrams], times_ns, (0, [source for source, _ in datagrams]))


def honest(number: int) -> bytes:
    """The n-th message of an exporter that uses the attacker's template and domain ids; every tenth has a template."""
    record = struct.pack("!IIBQQQQ", 0x0A010001, 0x0A010002, 6, 1000 + number, 7, START_MS, START_MS + number)
    sets = (flow_set(256, record),)
    return ipfix((flow_set(2, template(256, FIELDS)), *sets) if number % 10 == 0 else sets, sequence=number)


def assert_untouched(exporters: Sequence[ExporterStats], frames_bytes: list[int], count: int) -> None:
    """All the honest exporter's records came out as sent, and nothing of it is called lost or rejected."""
    (account,) = [e for e in exporters if (e.protocol, e.agent, e.domain) == ("IPFIX", "10.0.0.2", 1)]
    assert frames_bytes == [1000 + n for n in range(count)]
    assert (account.records, account.lost, account.duplicates, dict(account.rejected)) == (count, 0, 0, {})


def honest_bytes(exports: ExportDecoder) -> list[int]:
    """Byte counts of the honest exporter's records since the last time; the attacker's may name its address."""
    found = exports.take()
    if not {"10.0.0.2", "10.1.0.1"} <= set(found.addresses):
        return []
    agent, source = (found.addresses.index(name) for name in ("10.0.0.2", "10.1.0.1"))
    own = (found.flows["sampler_address"] == agent) & (found.flows["src_addr"] == source)
    return [int(n) for n in found.flows["bytes"][own]]


def test_a_hundred_thousand_damaged_datagrams_hurt_nobody() -> None:
    """Whatever one exporter sends, another that uses the same ids is decoded whole; time and memory stay small."""
    seeds = [datagram for datagrams in export_datagrams() for datagram in datagrams]
    exports, number, bytes_seen = ExportDecoder(), 0, list[int]()
    exports.feed(sent([(HONEST, honest(number))]))
    number += 1
    bad = mutated(seeds, MUTATED, seed=7)
    before_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = 0.0
    while chunk := [(ATTACKER, datagram) for _, datagram in zip(range(1000), bad, strict=False)]:
        for at in (300, 700):
            chunk.insert(at, (HONEST, honest(number)))
            number += 1
        batch = sent(chunk)
        began = time.process_time()
        exports.feed(batch)
        bytes_seen += honest_bytes(exports)
        seconds += time.process_time() - began
    assert_untouched(exports.exporters(), bytes_seen, number)
    assert exports.datagrams == MUTATED + number
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before_bytes < 500e6
    assert seconds < 60


@pytest.mark.slow
def test_a_flood_of_templates_is_bounded_and_touches_nobody() -> None:
    """Templates of one exporter, more than there is room for, cost bounded memory; another's of the same id stays."""
    exports, number, bytes_seen = ExportDecoder(), 0, list[int]()
    before_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for flood in range(0, MOST_TEMPLATES + 5_000, 5_000):
        messages = [(HONEST, honest(number))]
        number += 1
        for first in range(flood, flood + 5_000, 50):
            many = b"".join(template(256 + n % 65_000, ((1, 1 + n % 8), (2, 4))) for n in range(first, first + 50))
            messages.append((ATTACKER, ipfix((flow_set(2, many),), domain=first // 1000)))
        exports.feed(sent(messages))
        bytes_seen += honest_bytes(exports)
    assert_untouched(exports.exporters(), bytes_seen, number)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before_bytes < 300e6
    assert len(exports.state()) < 50e6


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sflow", "netflow5"])
def test_hundreds_of_thousands_of_spoofed_exporters_are_forgotten(kind: str) -> None:
    """Agents by the hundred thousand fill the table, no more; the exporter known before goes on being decoded."""
    sample = flow_sample(ethernet(ip(6, tcp(1, 2, 3, 4, 16, 100))))
    exports, number, bytes_seen = ExportDecoder(), 0, list[int]()
    before_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for first in range(0, 200_000, 5_000):
        messages = [(HONEST, honest(number))]
        number += 1
        for n in range(first, first + 5_000):
            payload = sflow((sample,), agent=f"11.{n >> 16}.{n >> 8 & 255}.{n & 255}") if kind == "sflow" else None
            messages.append((0xFFFF20000000 + n, payload or netflow5((record5(),))))
        exports.feed(sent(messages))
        bytes_seen += honest_bytes(exports)
    exporters = exports.exporters()
    assert_untouched(exporters, bytes_seen, number)
    assert len(exporters) <= 2 * MOST_EXPORTERS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before_bytes < 400e6


def test_tunnels_within_tunnels_come_to_an_end() -> None:
    """A header that nests the same tunnel a hundred times is rejected in bounded time."""
    inner = ethernet(ip(6, tcp(1, 2, 3, 4, 16)))
    nested = bytes(0)
    for _ in range(100):
        nested = ip(4, nested or inner[14:])
    exports = ExportDecoder()
    exports.feed(sent([(HONEST, sflow((flow_sample(ethernet(nested)[:1400]),)))]))
    assert len(exports.take().flows) == 0
    (account,) = exports.exporters()
    assert sum(account.rejected.values()) == 1
