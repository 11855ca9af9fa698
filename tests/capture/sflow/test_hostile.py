"""No bytes take the decoder down, are read beyond their end, or are told differently compiled and not."""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.exporters.datagram import Datagrams
from capture.sflow.describe import describe
from datamodel.telemetry.counters import COUNTERS, DROPS
from datamodel.telemetry.flows import FLOWS
from tests.capture.frames import WRITE_ONLY, ethernet, ip, reth, roce_frame, tcp_frame, udp
from tests.capture.sflow.wire import (
    BEGIN_NS,
    DEVICE,
    Fed,
    batch,
    counters,
    datagram,
    discard,
    expanded,
    fed,
    flow,
    header,
    host_cpu,
    host_memory,
    interface,
    nvidia_gpu,
    tagged,
    words,
)
from tests.effort import least, processor_s

VXLAN = b"\x08\0\0\0\0\0\x4d\0"
STAMP = tagged(1043, struct.pack("!Q", BEGIN_NS))
QUEUE = tagged(1036, words(3)) + tagged(1040, words(99))
IPV4 = tagged(3, words(1500, 6, 0x0A000001, 0x0A000002, 1, 2, 3, 4))
SEEDS = (
    datagram(flow(header(tcp_frame(1, 0))), flow(header(roce_frame(WRITE_ONLY, 5, 6, reth(64) + bytes(90))))),
    datagram(expanded(header(tcp_frame(1, 0)), STAMP), expanded(IPV4), agent="2001:db8::1", sequence=5),
    datagram(counters(interface(5), tagged(11, bytes(20)), tagged(2003, bytes(80)), tagged(1, bytes(48), 5703))),
    datagram(counters(host_cpu(), host_memory(9, 8), nvidia_gpu(), source=DEVICE)),
    datagram(discard(header(tcp_frame(1, 0)), reason=259), flow(header(tcp_frame(1, 0)), out_if=1 << 30 | 7)),
    datagram(flow(header(ethernet(ip(17, udp(1, 4789, VXLAN + tcp_frame(5, 6))))))),
    datagram(flow(header(b"\0\x01\x02\x40\0\x01\x01\x40" + ip(6, bytes(20)), 13))),
    datagram(tagged(1, words(1, 3, 9, 9, 9, 3, 7, 3) + QUEUE + header(tcp_frame(1, 0)))),
)
EDGES = (0, 1, 2, 3, 4, 5, 7, 8, 255, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFF)


def mutated(count: int, seed: int) -> Iterator[bytes]:
    """Good datagrams with words set to edges, bytes changed, pieces doubled or exchanged, and ends cut off."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed is the point
    for _ in range(count):
        out = bytearray(chance.choice(SEEDS))
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(out))
            match chance.randrange(4):
                case 0:
                    at &= ~3
                    out[at : at + 4] = struct.pack("!I", chance.choice(EDGES))
                case 1:
                    out[at] = chance.randrange(256)
                case 2:
                    other = chance.choice(SEEDS)
                    out[at:] = other[chance.randrange(len(other)) :]
                case _:
                    out[at:at] = out[at : at + 4 * chance.randrange(20)]
            out = out or bytearray(4)
        yield bytes(out[: chance.randrange(len(out) + 1)] if chance.random() < 0.2 else out)


def meaning(told: Fed) -> str:
    """All that came of datagrams, condensed."""
    tables = [told.rows(schema) for schema in (FLOWS, COUNTERS, DROPS)]
    notes = [repr(e) for e in told.decoder.exporters()]
    return json.dumps([tables, notes, told.decoder.rejected, told.decoder.refused])


def digest(seed: int, count: int) -> str:
    """Condensed meaning of mutated datagrams, whole and cut."""
    condensed = hashlib.sha256()
    for cut in (False, True):
        condensed.update(meaning(fed(*mutated(count, seed), cut=cut)).encode())
    return condensed.hexdigest()


def test_twenty_thousand_damaged_datagrams() -> None:
    """All are decoded or counted, in bounded time, and every exporter's sums hold."""
    payloads = list(mutated(20_000, seed=3))
    fed(*SEEDS)  # compiles
    told = Fed()
    assert processor_s(lambda: told.take(batch(payloads))) < 5
    accounts = told.decoder.exporters()
    strays = told.decoder.rejected - sum((Counter(e.rejected) for e in accounts), Counter())
    taken = sum(e.datagrams + e.duplicates for e in accounts) + strays.total()
    assert taken == len(payloads)
    assert sum(e.records for e in accounts) == len(told.rows()) > 5000
    assert sum(sum(e.rejected.values()) for e in accounts) > 5000
    for row in told.rows():
        assert 0 <= int(str(row["bytes"])) <= 0x7FFFFFFF
        assert int(str(row["time_uncertainty_ns"])) <= 500_000_000


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])  # which it is anew
def test_compiled_and_not_say_the_same(compiled: bool, bounds_checked: dict[str, str]) -> None:
    """Damaged datagrams mean the same without the compiler, and with its bounds checks, which find nothing."""
    script = "from tests.capture.sflow.test_hostile import digest; print(digest(5, 400))"
    environment = bounds_checked if compiled else {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    plain = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=Path(__file__).parents[3], env=environment,
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert plain.stdout.strip() == digest(5, 400)


@settings(max_examples=50)  # a decoder of its own each time is what takes long
@given(st.integers(0, 2**32), st.booleans())
def test_bytes_around_a_datagram_do_not_matter(seed: int, cut: bool) -> None:
    """It means the same whatever lies before and behind it: nothing outside is read."""
    (payload,) = mutated(1, seed)
    meanings = set()
    for filler in (0x00, 0x45, 0xFF):
        data = np.full(len(payload) + 400, filler, np.uint8)
        data[200 : 200 + len(payload)] = np.frombuffer(payload, np.uint8)
        index = batch([payload], cut=cut).index
        index["offset"] = 200
        meanings.add(meaning(Fed().take(Datagrams(data, index))))
    assert len(meanings) == 1


@given(st.binary(max_size=300))
def test_any_bytes_are_survived(content: bytes) -> None:
    """Random bytes as a datagram, as samples, and as structures."""
    payloads = (b"\0\0\0\5" + content, datagram(announced=9) + content, datagram(flow(content)))
    told = fed(*payloads)
    assert len(told.rows()) <= sum(map(len, payloads)) // 40


@pytest.mark.parametrize("inner", [words(1, 0), words(1001, 0), words(77, 0)])
def test_time_is_linear_in_the_bytes(inner: bytes) -> None:
    """Counts that claim four billion, of empty things, cost no more than the bytes that are there."""
    structures = words(1, 3, 9, 9, 9, 3, 7, 0xFFFFFFFF) + inner * 8000
    many = [
        datagram(tagged(1, structures), announced=0xFFFFFFFF, sequence=1),
        datagram(*[inner] * 8000, announced=0xFFFFFFFF, sequence=2),
    ]
    fed(*many)
    assert least(lambda: processor_s(lambda: fed(*many * 20)), 1) < 1


def listed(sample: dict[str, object], name: str) -> list[dict[str, object]]:
    """The structures that a sample holds, if it is of the kind that holds them."""
    found = sample.get(name, [])
    assert isinstance(found, list)
    return found


def records(payload: bytes) -> tuple[int, int, int]:
    """Flow samples with a header or IP data, counters of interfaces or GPUs, and discarded packets, by `describe`."""
    flows = counted = discards = 0
    for sample in describe(payload):
        discards += sample.get("sample") == "discarded_packet"
        structures = {s["structure"] for s in listed(sample, "counters") if "error" not in s}
        counted += bool(structures & {"if_counters", "nvidia_gpu"})
        if str(sample.get("sample")).startswith("flow_sample"):
            found = {s["structure"] for s in listed(sample, "flow_records") if "error" not in s}
            flows += bool(found & {"sampled_header", "sampled_ipv4", "sampled_ipv6"})
    return flows, counted, discards


def test_both_readings_agree_on_generated_datagrams() -> None:
    """What `describe` tells is what the tables hold: flow samples, interfaces, discards, sizes and addresses."""
    chance = random.Random(11)  # noqa: S311 - a fixed seed is the point
    for n in range(300):
        samples = []
        for _ in range(chance.randrange(6)):
            frame = header(tcp_frame(1, chance.randrange(1400)))
            samples.append(
                chance.choice([flow(frame, source=n), expanded(frame, STAMP), flow(IPV4, tagged(1001, bytes(16))),
                               counters(interface(n)), counters(nvidia_gpu(), source=DEVICE),
                               discard(frame, reason=260), tagged(99, bytes(8))])
            )  # fmt: skip
        payload = datagram(*samples, sequence=n)
        told = fed(payload)
        assert records(payload) == (len(told.rows()), len(told.rows(COUNTERS)), len(told.rows(DROPS)))
