"""Who asks too often waits; whoever else asks does not."""

from __future__ import annotations

from dataclasses import dataclass

from flowprism.service.access import limits
from flowprism.service.access.limits import TokenBuckets


@dataclass
class Clock:
    """A clock that a test sets."""

    now_s: float = 0.0

    def __call__(self) -> float:
        """What it shows."""
        return self.now_s


def test_a_bucket_empties_and_fills() -> None:
    """So many at once, then one each so many seconds; and the wait that is told is enough."""
    clock = Clock()
    buckets = TokenBuckets(3, 60.0, clock)
    assert [buckets.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 20.0]
    assert buckets.take("b") == 0.0
    clock.now_s = 10.0
    assert buckets.take("a") == 10.0
    clock.now_s = 20.0
    assert [buckets.take("a"), buckets.take("a")] == [0.0, 20.0]
    clock.now_s = 1e6
    assert [buckets.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 20.0]


def test_all_or_none() -> None:
    """Where one of two buckets is empty nothing is taken out of the other."""
    buckets = TokenBuckets(2, 60.0, Clock())
    buckets.take("a")
    buckets.take("a")
    assert buckets.take("a", "b") > 0
    assert [buckets.take("b"), buckets.take("b")] == [0.0, 0.0]


def test_what_did_not_count_is_given_back() -> None:
    """And never more than a bucket holds."""
    buckets = TokenBuckets(1, 60.0, Clock())
    buckets.take("a")
    buckets.give_back("a", "b")
    assert [buckets.take("a"), buckets.take("b")] == [0.0, 0.0]
    assert buckets.take("b") > 0


def test_memory_is_bounded() -> None:
    """Ever new keys push out those that were not seen for longest."""
    buckets = TokenBuckets(1, 60.0, Clock())
    buckets.take("first")
    for n in range(limits.MOST_KEYS):
        buckets.take(f"key {n}")
    assert len(buckets._left) == limits.MOST_KEYS
    assert buckets.take("first") == 0.0
    assert buckets.take(f"key {limits.MOST_KEYS - 1}") > 0
