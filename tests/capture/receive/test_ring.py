"""A ring keeps every datagram that it took, in order, until its room is given back, and takes no more than fits."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections import deque
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capture.exporters.datagram import IPFIX, NO_EXPORT
from capture.receive.ring import Ring, free, written
from capture.receive.ring_header import create, header_of
from tests.capture.receive.rings import everything, payloads, place, small_ring

# What is done next: a datagram of so many bytes comes, or so many are freed.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.one_of(st.integers(0, 200), st.integers(0, 9000), st.integers(0, 70_000))),
        st.tuples(st.just("free"), st.integers(1, 12)),
    ),
    max_size=120,
)


def play(ring: Ring, steps: list[tuple[str, int]]) -> str:
    """Do the steps on a ring and on a plain queue; after each both hold the same. The answer tells what happened."""
    waiting: deque[bytes] = deque()
    freed, log = 0, []
    for number, (what, amount) in enumerate(steps):
        if what == "put":
            payload = bytes([number % 256]) * amount
            taken = place(ring, payload)
            log.append(taken)
            if taken:
                waiting.append(payload)
            else:
                assert waiting or amount > len(ring.data)
        else:
            for _ in range(min(amount, len(waiting))):
                waiting.popleft()
                freed += 1
            free(ring.shared, freed)
        assert everything(ring, freed) == list(waiting)
    return hashlib.sha256(repr(log).encode()).hexdigest()


@given(steps=STEPS)
def test_any_order_of_coming_and_going(steps: list[tuple[str, int]]) -> None:
    """Whatever sizes come and whenever room is given back, nothing is changed, lost, doubled or reordered."""
    play(small_ring(), steps)


def random_steps(seed: int) -> list[tuple[str, int]]:
    """Many steps, small datagrams and large."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed is the point
    sizes = (0, 1, 63, 64, 65, 1400, 9000, 40_000)
    return [
        ("put", chance.choice(sizes)) if chance.random() < 0.7 else ("free", chance.randrange(1, 9)) for _ in range(600)
    ]


def test_compiled_and_not_do_the_same() -> None:
    """Without the compiler, which checks every index, the same datagrams find room."""
    plain = subprocess.run(
        [sys.executable, "-W", "error", "-c", "from tests.capture.receive.test_ring import *; print(digests())"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parents[3])},
        check=True,
        capture_output=True,
        text=True,
    )
    assert plain.stdout.strip() == str(digests())


def digests() -> list[str]:
    """What happened in some long plays."""
    return [play(small_ring(), random_steps(seed)) for seed in range(3)]


def test_a_full_ring_refuses() -> None:
    """A ring takes at least three quarters of its bytes; what does not fit changes nothing."""
    ring = small_ring()
    count = 0
    while place(ring, bytes(1000)):
        count += 1
    assert count * 1000 > len(ring.data) * 3 / 4
    assert ring.fill_ratio(0, count) > 0.75
    assert int(written(ring.shared)) == count
    free(ring.shared, 1)
    assert place(ring, bytes(900))
    assert not place(ring, bytes(900))


def test_batches_are_bounded() -> None:
    """A batch holds about the bytes asked for, no datagram at or behind `stop`, and at least one."""
    ring = small_ring()
    for size in (100, 100, 5000, 100):
        place(ring, bytes(size))
    assert [len(p) for p in payloads(ring.batch(0, 9, 200))] == [100, 100]
    assert [len(p) for p in payloads(ring.batch(2, 9, 200))] == [5000]
    assert [len(p) for p in payloads(ring.batch(0, 3, 1 << 20))] == [100, 100, 5000]
    assert len(ring.batch(4, 9, 200)) == 0


def test_rows_say_whence_and_what() -> None:
    """A row carries the source it was given and the protocol that its payload announces."""
    ring = small_ring()
    place(ring, b"\0\x0a\0\x10", 4711)
    place(ring, b"nonsense", 4712)
    rows = ring.batch(0, 2, 1 << 20).index
    assert rows["protocol"].tolist() == [IPFIX, NO_EXPORT]
    assert rows["source_port"].tolist() == [4711, 4712]


def test_every_mapping_sees_the_same() -> None:
    """The header and the datagrams are shared by all who map the ring, in whatever process."""
    descriptor = create(1 << 18)
    one, two, watcher = Ring(descriptor, 1 << 18), Ring(descriptor, 1 << 18), header_of(descriptor)
    place(one, b"seen")
    assert everything(two) == [b"seen"]
    free(two.shared, 1)
    assert (watcher["written"].tolist(), watcher["committed"].tolist()) == ([1], [1])
    assert np.shares_memory(one.data, one.index) is False
