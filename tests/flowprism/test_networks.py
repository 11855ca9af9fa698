"""Tenants that use the same addresses, each in an overlay network of its own, through the real command."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowprism.cli import app
from tests.capture.frames import erspan2, ethernet, ip, pcap, save, udp
from tests.flowprism.ring_capture import ITERATIONS, SNAP, ring_frames
from tests.flowprism.test_transports import sprayed, v4

FIRST, SECOND = 5001, 5002
BEGIN_NS, BESIDE_NS = 10**18, 3_000


def vxlan(frame: bytes, network: int) -> bytes:
    """A frame in a VXLAN network, between two switches."""
    return outer(udp(50000, 4789, struct.pack("!II", 0x08000000, network << 8) + frame), 17)


def geneve(frame: bytes, network: int) -> bytes:
    """The same in Geneve."""
    return outer(udp(50000, 6081, struct.pack("!HHI", 0, 0x6558, network << 8) + frame), 17)


def nvgre(frame: bytes, network: int) -> bytes:
    """The same in NVGRE."""
    return outer(struct.pack("!HHI", 0x2000, 0x6558, network << 8) + frame, 47)


def outer(payload: bytes, proto: int) -> bytes:
    """Between two switches."""
    return ethernet(ip(proto, payload, "10.255.0.1", "10.255.0.2"))


def slower(at_ns: int) -> int:
    """The time at which a job does the same that is an eighth slower."""
    return BEGIN_NS + (at_ns - BEGIN_NS) * 9 // 8


def report(path: Path, *more: str | Path) -> dict:  # type: ignore[type-arg]
    """What `flowprism analyze` prints of a capture."""
    result = CliRunner().invoke(app, ["analyze", str(path), "--format", "json", *map(str, more)])
    assert result.exit_code == 0, result.output
    found: dict = json.loads(result.stdout)  # type: ignore[type-arg]
    return found


@pytest.mark.parametrize("wrap", [vxlan, geneve, nvgre])
def test_equal_addresses_of_two_tenants_are_two_jobs(tmp_path: Path, wrap: Callable[[bytes, int], bytes]) -> None:
    """Addresses, queue pairs and packet numbers are all alike; one job is slower, and neither loses an iteration."""
    frames = ring_frames(sprayed)
    both = [(at, wrap(f, FIRST)) for at, f in frames]
    both += [(slower(at), wrap(f, SECOND)) for at, f in frames]
    path = save(tmp_path, pcap(sorted(both, key=lambda item: item[0]), snap=SNAP))
    found = report(path)
    expected = [[f"{v4(n)}%{network}" for n in range(4)] for network in (FIRST, SECOND)]
    assert sorted(job["endpoints"] for job in found["jobs"]) == expected
    assert [len(job["iterations"]) for job in found["jobs"]] == [ITERATIONS] * 2
    (warning,) = found["feed"]["warnings"]
    assert warning.startswith("4 addresses are used in several networks (such as 10.0.0.1)")
    ours = {"name": "t1", "hosts": [], "networks": [FIRST, SECOND]}
    (tmp_path / "known.yaml").write_text(json.dumps({"schema": "flowprism.inventory/v1", "tenants": [ours]}))
    together = report(path, "--inventory", tmp_path / "known.yaml")
    assert {a for job in together["jobs"] for a in job["endpoints"]} <= {v4(n) for n in range(4)}
    assert together["feed"]["warnings"] == []


def test_an_inventory_names_an_address_with_its_network(tmp_path: Path) -> None:
    """The same address on hosts of two tenants."""
    frames = ring_frames(sprayed)
    both = [(at, vxlan(f, FIRST)) for at, f in frames] + [(slower(at), vxlan(f, SECOND)) for at, f in frames]
    path = save(tmp_path, pcap(sorted(both, key=lambda item: item[0]), snap=SNAP))
    hosts = [
        {"name": f"h{n}-{network}", "endpoints": [{"address": f"{v4(n)}%{network}", "gpu": 0}]}
        for network in (FIRST, SECOND)
        for n in range(4)
    ]
    (tmp_path / "known.yaml").write_text(json.dumps({"schema": "flowprism.inventory/v1", "hosts": hosts}))
    found = report(path, "--inventory", tmp_path / "known.yaml")
    assert sorted(job["hosts"] for job in found["jobs"]) == [
        [f"h{n}-{network}" for n in range(4)] for network in (FIRST, SECOND)
    ]


def test_one_network_is_no_part_of_a_name(tmp_path: Path) -> None:
    """What a leaf sees outside of the overlay and a spine inside is the same packet of the same endpoint."""
    frames = ring_frames(sprayed)
    alone = report(save(tmp_path, pcap([(at, vxlan(f, FIRST)) for at, f in frames], snap=SNAP), "alone.pcap"))
    assert [job["endpoints"] for job in alone["jobs"]] == [[v4(n) for n in range(4)]]
    seen = [(at, erspan2(f, "10.9.0.1", 1)) for at, f in frames]
    seen += [(at + BESIDE_NS, erspan2(vxlan(f, FIRST), "10.9.0.2", 2)) for at, f in frames]
    both = report(save(tmp_path, pcap(sorted(seen, key=lambda item: item[0]), snap=2 * SNAP), "both.pcap"))
    assert [job["endpoints"] for job in both["jobs"]] == [[v4(n) for n in range(4)]]
    (twice,) = both["feed"]["rejected"].values()
    assert twice == pytest.approx(len(frames), rel=1e-3)  # of recent packets a few are forgotten
