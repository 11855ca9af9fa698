"""What an attacker sends to the collector next to the soak's feed: noise, invented exporters, wrong clocks."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from tests.attacks.test_collector import HOURS, clocked, invented
from tests.flowprism.collector.running import sender

NOISE, INVENTED, OF_EACH_CLOCK = 20_000, 20_000, 20
PER_S = 20_000
SENT = NOISE + INVENTED + OF_EACH_CLOCK * len(HOURS)


def attack(port: int) -> None:
    """Send all of it in a few seconds from an address that the feed does not use."""
    begun_s = time.monotonic()
    with sender("127.0.0.66") as sock:
        for number, content in enumerate(_content()):
            sock.sendto(content, ("127.0.0.1", port))
            if number % 200 == 0:
                time.sleep(max(begun_s + number / PER_S - time.monotonic(), 0.0))


def _content() -> Iterator[bytes]:
    random = np.random.default_rng(7)
    yield from (clocked(domain, n) for n in range(OF_EACH_CLOCK) for domain in HOURS)
    yield from (invented(1_000_000 + n) for n in range(INVENTED))
    yield from (b"\xff" * 4 + random.bytes(200) for _ in range(NOISE))
