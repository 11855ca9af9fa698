"""Where in which partition the next record stands: what a batch covers, and what is already durable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Partition = tuple[str, int]  # topic and number


@dataclass(frozen=True, slots=True)
class Offsets:
    """Per partition the offset of the first record that is not covered yet.

    Attributes:
        following: offset by partition; a partition that is not in it has no record covered.
    """

    following: Mapping[Partition, int] = field(default_factory=dict)

    def joined(self, other: Offsets) -> Offsets:
        """Both together; of a partition that is in both, the further offset."""
        keys = sorted({*self.following, *other.following})
        return Offsets({key: max(self.following.get(key, 0), other.following.get(key, 0)) for key in keys})

    def to_json(self) -> dict[str, dict[str, int]]:
        """Offset by number of partition by topic, as JSON can hold it."""
        topics: dict[str, dict[str, int]] = {}
        for (topic, number), offset in sorted(self.following.items()):
            topics.setdefault(topic, {})[str(number)] = offset
        return topics

    @classmethod
    def from_json(cls, topics: Mapping[str, Mapping[str, int]]) -> Offsets:
        """What `to_json` gave."""
        return cls({(topic, int(n)): offset for topic, numbers in topics.items() for n, offset in numbers.items()})
