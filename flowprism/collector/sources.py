"""Mirrors and Kafka topics as sources: as typed, and as passed to their processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from datamodel.errors import InputError

STDIN = "-"
DEFAULT_GROUP = "flowprism"
_SERVERS, _GROUP = "bootstrap.servers", "group.id"


class MirrorKind(StrEnum):
    """How mirrored packets come."""

    INTERFACE = "interface"
    ERSPAN = "erspan"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class MirrorSource:
    """Mirrored packets.

    Attributes:
        kind: how they come.
        name: the interface, the local address at which ERSPAN sessions end, or `STDIN`.
    """

    kind: MirrorKind
    name: str

    def __str__(self) -> str:
        return "standard input" if self.kind is MirrorKind.STREAM else self.name


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """Topics that another collector writes to.

    Attributes:
        topics: their names.
        settings: librdkafka's, by name.
    """

    topics: tuple[str, ...]
    settings: Mapping[str, str] = field(repr=False)  # passwords are among them

    def __str__(self) -> str:
        return f"kafka {','.join(self.topics)}"


Source = MirrorSource | KafkaSource


def mirror_sources(interfaces: Iterable[str], erspan_addresses: Iterable[str]) -> tuple[MirrorSource, ...]:
    """The mirrors that `--mirror` and `--erspan` name, each once."""
    named = [MirrorSource(MirrorKind.STREAM if name == STDIN else MirrorKind.INTERFACE, name) for name in interfaces]
    named += [MirrorSource(MirrorKind.ERSPAN, address) for address in erspan_addresses]
    return tuple(dict.fromkeys(named))


def kafka_source(topics: str, settings: Iterable[str]) -> tuple[KafkaSource, ...]:
    """The topics that `--kafka` names, read as `--kafka-setting` says; none where there are none.

    Raises:
        InputError: a setting is not of the form NAME=VALUE, the servers are missing, or nothing is to be read.
    """
    named = tuple(dict.fromkeys(topic for topic in topics.split(",") if topic))
    said: dict[str, str] = {_GROUP: DEFAULT_GROUP}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise InputError(f"--kafka-setting {name}: expected NAME=VALUE")
        if not named:
            raise InputError(f"--kafka-setting {name}: there is no --kafka")
        said[name] = value
    if not named:
        return ()
    if not said.get(_SERVERS):
        raise InputError(f"--kafka {topics}: --kafka-setting {_SERVERS}=HOST:PORT is missing")
    return (KafkaSource(named, said),)
