"""Configured against exported against counted, on captures of real sFlow datagrams."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import dpkt
import numpy as np
import pytest
from typer.testing import CliRunner

from flowprism.cli import app
from tests.capture.frames import ethernet, ip, tcp_frame, udp
from tests.capture.sflow.wire import datagram, flow, header

AGENT = "10.255.0.1"
CONFIG = """hostname leaf1
sflow sample dangerous 100
sflow destination 10.0.0.5
sflow source 10.255.0.1
sflow run
"""


def samples(exported: int, true: int, agent: str = AGENT, count: int = 400) -> list[bytes]:
    """Datagrams of one sample each that say 1 in `exported`, while the pool grows as for 1 in `true`."""
    chance, pool, out = np.random.default_rng(1), 0, []
    for n in range(count):
        sample = flow(header(tcp_frame(1, 0)), sequence=n, rate=exported, pool=pool)
        out.append(datagram(sample, agent=agent, sequence=n, uptime_ms=1000 + 10 * n))
        pool += int(chance.geometric(1 / true))
    return out


def audit(folder: Path, payloads: Sequence[bytes]) -> str:
    """What the command says of the configuration and a capture of these datagrams."""
    (folder / "configs").mkdir()
    (folder / "configs" / "leaf1.cfg").write_text(CONFIG)
    with (folder / "feed.pcap").open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for number, payload in enumerate(payloads):
            writer.writepkt(
                ethernet(ip(17, udp(6343, 6343, payload), AGENT, "10.0.0.5")), ts=1_700_000_000 + number / 100
            )
    arguments = ["config", "audit", str(folder / "configs"), "--feed", str(folder / "feed.pcap")]
    return CliRunner().invoke(app, arguments, catch_exceptions=False).stdout


def test_feed_as_configured_has_no_finding(tmp_path: Path) -> None:
    """Configured, exported and counted agree."""
    assert "[" not in audit(tmp_path, samples(100, 100))


def test_exported_rate_differs(tmp_path: Path) -> None:
    """Samples that carry another rate than the configured one are a finding at the rate's line."""
    text = audit(tmp_path, samples(400, 400))
    assert "leaf1.cfg:2: samples carry 1 in 400; configured is 1 in 100 [exported-rate]" in text


def test_counted_rate_differs(tmp_path: Path) -> None:
    """A pool that grows four times as fast as exported implies another rate."""
    found = re.search(
        r"interface 3: 1 in (\d+) by its sample pool; configured is 1 in 100", audit(tmp_path, samples(100, 400))
    )
    assert found is not None
    assert 340 < int(found.group(1)) < 460  # 400 samples: 5 %


@pytest.mark.parametrize("agent", ["10.255.0.9"])
def test_silent_device(tmp_path: Path, agent: str) -> None:
    """A device that is configured to export and of which nothing came is an error."""
    assert f"nothing was received from agent {AGENT} [silent]" in audit(tmp_path, samples(100, 100, agent))
