"""A collector from the command line: check the options, run the supervisor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from datamodel.errors import InputError
from flowprism.cli.arguments.sampling_rates import parse_sampling_rates
from flowprism.collector.collector_options import DEFAULT_LISTENS, CollectorOptions, parse_listen, parse_workers
from flowprism.collector.sources import Source, kafka_source, mirror_sources
from flowprism.collector.supervisor import CollectorSupervisor
from storage.lake.object_store import is_address, redact_address

_LONGEST_INTERVAL_S = 3600.0
_SHORTEST_INTERVAL_S = 0.05


@dataclass(frozen=True, slots=True)
class Inputs:
    """Where records are to come from, as typed; the usual ports where nothing is."""

    listen: Sequence[str] = ()
    mirror: Sequence[str] = ()
    erspan: Sequence[str] = ()
    kafka: str = ""
    kafka_setting: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Lake:
    """Where records go: a folder or an address, the folder of lock and status for an address, whether it is kept."""

    out: str
    folder: Path | None
    keep: bool


@dataclass(frozen=True, slots=True)
class Work:
    """How many workers, after how many seconds records are durable, whether samples are thinned under overload."""

    workers: str
    commit_every_s: float
    thinning: bool


def run_collector(lake: Lake, inputs: Inputs, work: Work, allow: Sequence[str], sampling_rates: Sequence[str]) -> None:
    """Collect until a signal comes.

    Raises:
        InputError: an option cannot be used, or records could not be stored.
    """
    workers, most_workers = _workers(work.workers)
    if not _SHORTEST_INTERVAL_S <= work.commit_every_s <= _LONGEST_INTERVAL_S:
        raise InputError(
            f"--commit-every {work.commit_every_s:g}: "
            f"expected {_SHORTEST_INTERVAL_S} to {_LONGEST_INTERVAL_S:g} seconds"
        )
    sources: tuple[Source, ...] = (
        *mirror_sources(inputs.mirror, inputs.erspan),
        *kafka_source(inputs.kafka, inputs.kafka_setting),
    )
    options = CollectorOptions(
        out=lake.out,
        folder=lake.folder,
        keep=lake.keep,
        listens=tuple(dict.fromkeys(map(parse_listen, inputs.listen))) or (() if sources else DEFAULT_LISTENS),
        sources=sources,
        workers=workers,
        most_workers=most_workers,
        allow=tuple(allow),
        rates=parse_sampling_rates(sampling_rates),
        commit_every_s=work.commit_every_s,
        thins=work.thinning,
    )
    name = redact_address(lake.out)
    if is_address(lake.out) and lake.folder is None:
        raise InputError(f"--out {name}: --folder DIR is missing: lock and status cannot be in a bucket")
    hint = f"records are compacted and removed only with --compact, or by `flowprism compact {name} --every 10`"
    if not CollectorSupervisor(options, hint="" if lake.keep else hint).run():
        raise InputError(f"{name}: not all that was received could be stored")


def _workers(text: str) -> tuple[int, int]:
    try:
        return parse_workers(text)
    except InputError as error:
        raise InputError(f"--workers {error}") from None
