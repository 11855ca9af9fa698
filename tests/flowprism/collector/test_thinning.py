"""A collector that cannot keep up thins out flow samples, loses nothing, and stops when it can keep up again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capture.sflow.reasons import THINNED_SAMPLES
from datamodel.frame import Frame
from storage.lake.lake_reader import read_lake
from tests.capture.frames import tcp_frame
from tests.capture.sflow.wire import datagram, flow, header
from tests.flowprism.collector.running import Collector, sender

SLOW = {
    "decoder": "tests.flowprism.collector.slow:SlowDecoder",
    "commit_every_s": 0.05,
    "ring_bytes": 64 << 20,
}
RATE, SAMPLES = 1000, 6
PACKET = header(tcp_frame(1, 0))


def sample(number: int, source: int = 3) -> bytes:
    """A flow sample whose pool agrees with its rate."""
    return flow(PACKET, sequence=number, rate=RATE, pool=RATE * number, source=source)


def exported() -> Iterator[bytes]:
    """Datagrams of six samples each, of which every tenth is missing."""
    number = 0
    while True:
        if number % 10 != 9:
            taken = (sample(SAMPLES * number + k) for k in range(SAMPLES))
            yield datagram(*taken, sequence=number)
        number += 1


def flood(collector: Collector, until: Any) -> int:  # noqa: ANN401 - a condition
    """Send thousands of samples a second, each of which takes half a millisecond, until something is true; how many."""
    sent, source = 0, exported()
    collector.until(lambda: worker(collector)["is_decoding"])
    with sender() as sock:
        while not until():
            for _ in range(20):
                sock.sendto(next(source), ("127.0.0.1", collector.port()))
                sent += 1
            time.sleep(0.01)
    return sent


def worker(collector: Collector) -> dict[str, Any]:
    """What the status says of the only worker."""
    status = collector.status()
    assert status is not None
    found: dict[str, Any] = status["workers"][0]
    return found


def thinning(collector: Collector) -> int:
    """How many samples one stands for, by the status."""
    return int(worker(collector)["thinning"])


def stored(folder: Path) -> Frame:
    """All committed flow records."""
    return read_lake(folder).flows.frame


@pytest.mark.slow
def test_overload_thins_samples_and_relief_ends_it(tmp_path: Path) -> None:
    """Overloaded at first: some samples stand for several, and say so; nothing is lost and the losses are counted.

    When it is over all samples are kept again. The volume is that of all samples, within five standard errors.
    """
    with Collector(tmp_path, options=SLOW) as collector:
        sent = flood(collector, lambda: thinning(collector) > 1)
        warned = collector.status()
        collector.until(lambda: thinning(collector) == 1)
        with sender() as sock:  # and what comes then is whole
            one = datagram(*(sample(k, source=9) for k in range(3)), agent="10.0.0.9")
            sock.sendto(one, ("127.0.0.1", collector.port()))
            collector.until(lambda: collector.totals()["durable"] == sent + 1)
        said = collector.stop()
    assert warned is not None
    assert any("cannot keep up: it keeps one in" in text for text in warned["warnings"])
    assert "keeps all flow samples again" in said
    totals, frame = collector.totals(), stored(tmp_path)
    assert (totals["received"], totals["kernel_drops"]) == (sent + 1, 0)
    assert totals["lost"]["datagrams"] == (sent - 1) // 9
    assert totals["thinned"] == sent * SAMPLES + 3 - len(frame) > 0
    status = collector.status()
    assert status is not None
    assert status["rejected"][THINNED_SAMPLES] == totals["thinned"]
    factor = frame["sampling_rate"] // RATE
    sigma = np.sqrt((factor * (factor - 1)).sum())
    assert abs(factor.sum() - sent * SAMPLES - 3) < 5 * sigma
    agents = read_lake(tmp_path).flows.addresses
    last = frame["sampler_address"] == agents.index("10.0.0.9")
    assert frame["sampling_rate"][last].tolist() == [RATE] * 3


def test_without_thinning_all_samples_are_kept(tmp_path: Path) -> None:
    """Where it is turned off an overload fills the ring, and what is stored has its own rates."""
    with Collector(tmp_path, options=SLOW | {"thins": False}) as collector:
        sent = flood(collector, lambda: worker(collector)["waiting"] > 500)
        assert (sent > 500, thinning(collector)) == (True, 1)
        collector.until(lambda: worker(collector)["durable"] > 0)
        collector.kill_all()
    assert set(stored(tmp_path)["sampling_rate"].tolist()) == {RATE}
