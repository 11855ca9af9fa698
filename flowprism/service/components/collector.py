"""The collector as a component of the service: its options from the settings, its accounts into the database."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from capture.configured_rates import UNKNOWN_RATE, SamplingRates
from capture.receive.sockets import Listen, ListeningSocket
from capture.receive.sockets import open_sockets as opened
from datamodel.errors import InputError
from flowprism.collector.collector_options import CollectorOptions, parse_listen, parse_workers
from flowprism.collector.sources import kafka_source, mirror_sources
from flowprism.collector.status import FILE
from flowprism.collector.supervisor import CollectorSupervisor
from flowprism.service.components.component_context import ComponentContext
from flowprism.service.components.feed_minutes import FeedMinutes
from flowprism.service.components.feed_sampling import sampled
from flowprism.service.components.heartbeat import GETTING_READY, Heartbeat, send_heartbeats
from flowprism.service.config.settings import CollectSettings, Settings
from storage.database.connection import Database
from storage.lake.object_store import redact_address

_TOTALS = (
    "received", "durable", "records", "kernel_drops", "refused", "set_aside", "packets", "packets_lost_here", "thinned",
    "worker_deaths",
)  # fmt: skip


def options(settings: Settings) -> CollectorOptions:
    """Build a collector's settings.

    Raises:
        InputError: a source's settings cannot be used.
    """
    collect = settings.collect
    workers, most_workers = parse_workers(collect.workers)
    kafka = [f"{name}={value.get_secret_value()}" for name, value in collect.kafka.items()]
    return CollectorOptions(
        out=settings.store.flow_lake,
        folder=settings.store.folder / "collector",
        listens=tuple(dict.fromkeys(map(parse_listen, collect.listen))),
        sources=(
            *mirror_sources(collect.mirror, collect.erspan),
            *kafka_source(",".join(collect.kafka_topics), kafka if collect.kafka_topics else ()),
        ),
        workers=workers,
        most_workers=most_workers,
        allow=collect.allow,
        rates=_rates(collect),
        commit_every_s=collect.commit_every_s,
        thins=collect.thinning,
        corrects_clocks=True,
    )


def open_doors(settings: Settings) -> list[socket.socket]:
    """The sockets that exporters send to, worker by worker, for a collector that inherits them.

    Holding them loses nothing that arrives while a dead collector is restarted, as long as the kernel has
    room for it.

    Raises:
        InputError: a port is taken or not permitted, or a source's settings cannot be used.
    """
    said = options(settings)
    if not said.listens:
        return []
    try:
        return [door.socket for own in opened(said.listens, said.workers, said.buffer_bytes) for door in own]
    except InputError as error:
        raise InputError(f"{error} (settings collect.listen)") from None


def run(context: ComponentContext) -> None:
    """Collect until SIGTERM or Ctrl-C, and then store all that was received.

    Raises:
        InputError: a source or the folder cannot be used, or not all that was received could be stored.
    """
    settings = context.settings
    said = options(settings)
    database = Database(settings.store.database)
    watch = _Watch(said.home / FILE, FeedMinutes(database), said.rates)
    watch.begin()
    with closing(database), send_heartbeats(context, database, watch.look):
        complete = CollectorSupervisor(said, _inherited(context.doors, said.workers)).run()
    if not complete:
        raise InputError(f"{redact_address(said.out)}: not all that was received could be stored")


def _inherited(descriptors: Sequence[int], workers: int) -> list[list[ListeningSocket]]:
    """The sockets of every worker, as `open_sockets` of another process gave them."""
    doors = []
    for sock in (socket.socket(fileno=descriptor) for descriptor in descriptors):
        host, port = sock.getsockname()[:2]
        doors.append(ListeningSocket(sock, Listen(host, port, tcp=sock.type == socket.SOCK_STREAM)))
    each = max(len(doors) // workers, 1)
    return [doors[first : first + each] for first in range(0, len(doors), each)]


@dataclass(slots=True)
class _Watch:
    """Reads what the collector writes about itself."""

    file: Path
    minutes: FeedMinutes
    rates: SamplingRates

    def begin(self) -> None:
        """Take note of where counters stand: where the run before left them, or at 0."""
        self.look()
        self.minutes.take(())

    def look(self) -> Heartbeat:
        """How it goes; what exporters sent since the last look is added to their minutes."""
        try:
            status = json.loads(self.file.read_text())
        except (OSError, ValueError):  # not yet, or not any more
            return Heartbeat(detail=GETTING_READY)
        self.minutes.take(status.get("exporters", ()))
        totals = status["totals"]
        figures = {f"{name}_total": float(totals.get(name, 0)) for name in _TOTALS}
        figures |= {f"lost_{unit}_total": float(count) for unit, count in totals.get("lost", {}).items()}
        figures["exporters"] = float(status.get("exporters_known", 0))
        figures["waiting_datagrams"] = float(sum(worker["waiting"] for worker in status.get("workers", ())))
        figures["workers"] = float(len(status.get("workers", ())))
        thinning = max((worker.get("thinning", 1) for worker in status.get("workers", ())), default=1)
        figures["thinning"] = float(thinning)
        detail = f"cannot keep up: keeps one in {thinning} flow samples" if thinning > 1 else ""
        for worker in status.get("workers", ()):
            detail = detail if worker.get("is_decoding") else GETTING_READY
        return Heartbeat(detail=detail, figures=figures, sampling=sampled(status.get("exporters", ()), self.rates))


def _rates(collect: CollectSettings) -> SamplingRates:
    return SamplingRates(dict(collect.sampling_rates), collect.sampling_rate or UNKNOWN_RATE)
