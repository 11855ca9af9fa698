"""Which partitions are ours, where reading begins in them, and what of them was handed out but is not committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

from capture.kafka.offsets import Offsets, Partition

COMMITTED_TIMEOUT_S = 15.0


class Record(NamedTuple):
    """A message's place and value."""

    partition: Partition
    offset: int
    value: bytes | None


class Assignment:
    """Follows the group's rebalances.

    Args:
        durable: what is durable already, asked at every assignment. Reading begins there or where the broker's commit
            stands, whichever is further.
        cooperative: whether partitions come and go one by one (librdkafka's cooperative-sticky).
    """

    def __init__(self, durable: Callable[[], Offsets], cooperative: bool) -> None:
        self._durable = durable
        self._cooperative = cooperative
        self._next: dict[Partition, int] = {}  # of every partition that is ours
        self._committed: dict[Partition, int] = {}
        self._lost: set[Partition] = set()

    def assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Begin to read these partitions.

        Raises:
            KafkaException: the broker does not say what is committed; the next rebalance tries again.
        """
        durable = self._durable().following
        for place in consumer.committed(partitions, timeout=COMMITTED_TIMEOUT_S):
            if place.error:
                raise KafkaException(place.error)
            key = (place.topic, place.partition)
            begin = max(place.offset, durable.get(key, -1))
            self._next[key] = self._committed[key] = max(begin, 0)
            for partition in partitions:
                if (partition.topic, partition.partition) == key and begin >= 0:
                    partition.offset = begin
        if self._cooperative:
            consumer.incremental_assign(partitions)
        else:
            consumer.assign(partitions)

    def revoke(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        """Give these partitions up; what was handed out of them and not committed is lost to us."""
        for place in partitions:
            key = (place.topic, place.partition)
            if self._next.pop(key, 0) > self._committed.pop(key, 0):
                self._lost.add(key)

    def accepted(self, records: Iterable[Record]) -> list[Record]:
        """Those that are of our partitions and were not handed out before.

        One fetch may bring records from before and after a rebalance.
        """
        taken = []
        for record in records:
            if record.offset >= self._next.get(record.partition, record.offset + 1):
                self._next[record.partition] = record.offset + 1
                taken.append(record)
        return taken

    def ours(self, offsets: Offsets) -> Offsets:
        """What of `offsets` may be committed: of partitions that were ours from when it was handed out until now."""
        return Offsets(
            {key: offset for key, offset in offsets.following.items() if self._committed.get(key, offset) < offset}
        )

    def committed(self, offsets: Offsets) -> None:
        """Note that the broker knows these offsets."""
        self._committed |= offsets.following

    def take_lost(self) -> frozenset[Partition]:
        """Return partitions whose handed-out work was lost since the last call."""
        lost, self._lost = frozenset(self._lost), set()
        return lost
