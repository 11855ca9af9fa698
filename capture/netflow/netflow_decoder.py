"""NetFlow v5, NetFlow v9 and IPFIX datagrams to flow records: drives the kernels and keeps what they work in."""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import NETFLOW5, Datagrams
from capture.exporters.exporter_table import REFUSED, ExporterTable, busiest, collect_stats
from capture.exporters.forgetting import address_numbers
from capture.netflow.records import sampler
from capture.netflow.records.interpret import FLOW_COLUMNS
from capture.netflow.templates.definition import Definition, DefinitionError, FieldLengthError, read_definition
from capture.netflow.templates.load_plan import program_of
from capture.netflow.templates.pending_sets import SETS, PendingSets
from capture.netflow.templates.template_table import Templates
from capture.netflow.templates.v5_template import v5_definition
from capture.netflow.walk import (
    ADDRESSES_A_CHUNK,
    DONE,
    NEEDS_ADDRESSES,
    NEEDS_BLOCK,
    NEEDS_EXPORTER,
    NEEDS_FORGETTING,
    NEEDS_SAMPLERS,
    NEEDS_TEMPLATE,
    NEEDS_WAITING_ROOM,
    decode_batch,
)
from capture.netflow.wire.datagram_header import UNPLACED
from capture.netflow.wire.netflow_layout import (
    CHUNK,
    PROGRESS,
    SAMPLERS,
    SOURCES,
    Samplers,
    Tables,
    matrix,
)
from capture.netflow.wire.reasons import (
    BAD_TEMPLATE,
    DOUBT_TEXTS,
    LONG_TEMPLATE,
    NO_TEMPLATE,
    REASONS,
    STILL_WAITING,
    TEMPLATE_LATE,
    TEMPLATES_EVICTED,
    TEMPLATES_FULL,
)
from capture.packets.packet_columns import PACKET
from capture.packets.packet_rows import PACKET_COLUMNS, last_as_first
from capture.tables.address_book import AddressBook
from capture.tables.addresses import from_words
from capture.tables.key_table import KeyTable
from capture.tables.packed_rows import pack_rows, unpack_rows
from capture.tables.read_buffer import Bytes
from capture.tables.row_blocks import BlockWriter
from datamodel.frame import Frame
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import FLOWS

_BLOCK_ROWS = 32_768 + 72  # what comes out of a batch of the collector's size is one frame


class NetflowDecoder:
    """Decodes the datagrams of many exporters.

    Memory: bounded for exporters, templates, samplers and waiting sets each; see where they are kept.
    """

    def __init__(self, book: AddressBook, rates: SamplingRates) -> None:
        self._book = book
        self._rates = rates
        self._exporters = ExporterTable()
        self._sources = np.zeros(0, SOURCES)
        self._agents: dict[tuple[int, int, int], int] = {}
        self._templates = Templates()
        definition = v5_definition()
        self._templates.built_in(definition, program_of(definition, NETFLOW5))
        self._waiting = PendingSets()
        self._samplers = np.zeros(256, SAMPLERS)
        self._sampler_keys = KeyTable(2, len(self._samplers))
        self._unplaced = np.zeros(len(UNPLACED), np.int64)
        self._flows = BlockWriter(FLOWS, FLOW_COLUMNS, _BLOCK_ROWS)
        self._sections = BlockWriter(FLOWS, PACKET_COLUMNS, _BLOCK_ROWS)
        self._matrix = matrix()
        self._packets = np.zeros(CHUNK, PACKET)
        self._progress = np.zeros(1, PROGRESS)

    @property
    def refused(self) -> int:
        """Datagrams refused because there were too many exporters."""
        return int(self._exporters.full[REFUSED])

    @property
    def forgotten(self) -> int:
        """Exporters forgotten to make room for others."""
        return self._exporters.forgotten

    @property
    def rejected(self) -> Counter[str]:
        """What was left out, by reason, and the sets that wait."""
        unplaced = {text: int(count) for text, count in zip(UNPLACED, self._unplaced, strict=True) if count}
        waiting = Counter({STILL_WAITING: int(self._waiting.waiting_sets(0).sum())})
        return self._exporters.rejected(REASONS) + Counter(unplaced) + waiting

    @property
    def lost(self) -> Counter[str]:
        """What sequence numbers say is missing, by unit."""
        return self._exporters.lost()

    @property
    def exporters_known(self) -> int:
        """How many exporters were seen."""
        return len(self._exporters)

    def feed(self, batch: Datagrams) -> list[Frame]:
        """Decode a batch; the flow records in the order of the wire, those of sets that waited when they could be.

        Frames of `FLOWS`; address codes point into the book given at the beginning.
        """
        frames: list[Frame] = []
        if len(batch) == 0:
            return frames
        self._exporters.make_room(len(batch))
        self._more_sources()
        self._expire(int(batch.index["time_ns"][-1]))
        self._walk(batch, frames)
        self._flush(frames)
        return frames

    def exporters(self, most: int | None = None) -> tuple[ExporterStats, ...]:
        """The accounts of the exporters with most records, at most so many; None: of all."""
        known = self._exporters.known()
        waiting = self._waiting.waiting_sets(len(known)).tolist()
        chosen = busiest(known, most).tolist()
        return tuple(self._notes(row, collect_stats(known[row], REASONS), waiting[row]) for row in chosen)

    def state(self) -> dict[str, object]:
        """Exporters, templates, sampling rates and the sets that wait, for `restore`."""
        exporters = len(self._exporters)
        samplers = self._samplers[: len(self._sampler_keys)]
        return {
            "exporters": self._exporters.state(),
            "sources": pack_rows(self._sources[:exporters]),
            "samplers": pack_rows(samplers),
            "templates": [
                [exporter, port, used_ns, options, base64.b64encode(content).decode()]
                for exporter, port, used_ns, options, content in self._templates.known()
            ],
            "waiting": self._waiting.state(),
            "unplaced": [int(count) for count in self._unplaced],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another decoder's `state` was taken.

        Raises:
            ValueError, KeyError, TypeError: it is damaged.
        """
        self._exporters.restore(state["exporters"])
        exporters = len(self._exporters)
        self._more_sources()
        sources = unpack_rows(state["sources"], SOURCES)
        if len(sources) != exporters or (sources["agent"] >= exporters).any() or (sources["agent"] < 0).any():
            raise ValueError("exporters and what is known of them do not belong together")
        self._sources[:exporters] = sources
        self._waiting.restore(state["waiting"])
        if (self._waiting.index["exporter"] >= exporters).any():
            raise ValueError("a set that waits belongs to no exporter")
        self._sources["waiting_bytes"] = self._waiting.waiting_bytes(len(self._sources))
        self._restore_samplers(unpack_rows(state["samplers"], SAMPLERS))
        for exporter, port, used_ns, options, content in state["templates"]:
            if not 0 <= exporter < exporters:
                raise ValueError("a template belongs to no exporter")
            protocol = int(self._exporters.rows[exporter]["protocol"])
            definition = read_definition(base64.b64decode(content, validate=True), protocol, options=bool(options))
            self._templates.put(exporter, int(port), int(used_ns), definition, program_of(definition, protocol))
        self._unplaced[:] = state["unplaced"]
        for row in range(exporters):
            self._ready(row)

    def _restore_samplers(self, samplers: npt.NDArray[np.void]) -> None:
        if len(samplers) > sampler.MOST_SAMPLERS:
            raise ValueError("too many samplers")
        while len(self._samplers) < len(samplers):
            self._more_samplers()
        self._samplers[: len(samplers)] = samplers
        self._sampler_keys.fill(sampler.sampler_keys(samplers))

    def _tables(self) -> Tables:
        exporters, templates, book, waiting = self._exporters, self._templates, self._book, self._waiting
        return Tables(
            exporters.rows, exporters.keys, exporters.full, self._sources, templates.rows,
            templates.exact, templates.loose, templates.fields, templates.definitions,
            Samplers(self._samplers, self._sampler_keys.keys), book.book, waiting.data, waiting.index, waiting.used,
            self._unplaced, self._flows.blocks, self._sections.blocks, self._matrix, self._packets, self._progress,
        )  # fmt: skip

    def _walk(self, batch: Datagrams, frames: list[Frame], *, again: bool = False) -> None:
        """Run the kernel over a batch, doing whatever it needs in between."""
        progress = self._progress[0]
        progress["datagram"], progress["opened"], progress["again"] = 0, 0, again
        while True:
            need = decode_batch(batch.data, batch.index, self._tables())
            if need == DONE:
                return
            if need == NEEDS_BLOCK:
                self._flush(frames)
            elif need == NEEDS_ADDRESSES:
                self._book.make_room(ADDRESSES_A_CHUNK)
            elif need == NEEDS_EXPORTER:
                self._ready(int(progress["exporter"]))
            elif need == NEEDS_SAMPLERS:
                self._more_samplers()
            elif need == NEEDS_WAITING_ROOM:
                progress["waiting_full"] = not self._waiting.make_room()
            elif need == NEEDS_TEMPLATE:
                self._learn(batch.data, frames)
            elif need == NEEDS_FORGETTING:
                self._forget(int(batch.index[progress["datagram"]]["time_ns"]))

    def _flush(self, frames: list[Frame]) -> None:
        progress = self._progress[0]
        rows = int(progress["rows"])
        if rows:
            besides = last_as_first(self._sections.taken(rows)) if progress["sectioned"] else {}
            frames.append(Frame(FLOWS, self._flows.taken(rows) | besides))
        progress["rows"], progress["sectioned"] = 0, 0

    def _learn(self, data: Bytes, frames: list[Frame]) -> None:
        """Read the template record at hand and enter it; then decode the sets that waited for it."""
        progress = self._progress[0]
        exporter, protocol = int(progress["exporter"]), int(progress["protocol"])
        rejected = self._exporters.rows[exporter]["rejected"]
        rest = data[int(progress["at"]) : int(progress["set_end"])].tobytes()
        try:
            definition = read_definition(rest, protocol, options=int(progress["set_id"]) in (1, 3))
        except DefinitionError as error:
            rejected[LONG_TEMPLATE if isinstance(error, FieldLengthError) else BAD_TEMPLATE] += 1
            progress["at"] = progress["set_end"]
            return
        progress["at"] += len(definition.content)
        if not definition.fields:
            self._withdraw(definition)
            return
        place = (exporter, int(progress["port"]), int(progress["received_ns"]))
        found_room, robbed = self._templates.put(*place, definition, program_of(definition, protocol))
        for other in robbed:
            self._exporters.rows[other]["rejected"][TEMPLATES_EVICTED] += 1
        if not found_room:
            rejected[TEMPLATES_FULL] += 1
        elif self._sources[exporter]["waiting_bytes"]:
            self._decode_waiting(exporter, definition.id, frames)

    def _withdraw(self, definition: Definition) -> None:
        """Forget a template, or all of a session (RFC 7011 section 8.1)."""
        progress = self._progress[0]
        session = (int(progress["exporter"]), int(progress["port"]))
        if definition.id == int(progress["set_id"]):
            self._templates.withdraw_all(*session, options=definition.options)
        else:
            self._templates.withdraw(*session, definition.id)

    def _decode_waiting(self, exporter: int, template: int, frames: list[Frame]) -> None:
        batch = self._waiting.take(exporter, template)
        if len(batch) == 0:
            return
        self._sources[exporter]["waiting_bytes"] -= batch.index["bytes"].sum()
        before = self._progress.copy()
        self._walk(batch, frames, again=True)
        rows, sectioned = int(self._progress[0]["rows"]), int(self._progress[0]["sectioned"])
        self._progress[:] = before
        self._progress[0]["rows"], self._progress[0]["sectioned"] = rows, sectioned
        self._progress[0]["waiting_full"] = 0

    def _expire(self, now_ns: int) -> None:
        if self._waiting.used[SETS] == 0:
            return
        late = self._waiting.expire(now_ns)
        if len(late) == 0:
            return
        for exporter in late.tolist():
            self._exporters.rows[exporter]["rejected"][TEMPLATE_LATE] += 1
        self._sources["waiting_bytes"] = self._waiting.waiting_bytes(len(self._sources))
        self._progress[0]["waiting_full"] = 0

    def _forget(self, now_ns: int) -> None:
        """Forget exporters, and what belongs to them, so that new ones find room."""
        before = self._sources["agent"][: len(self._exporters)].copy()
        moves = self._exporters.forget(now_ns)
        if moves is None:
            return
        places = moves.places
        init_ms = self._sources["init_ms"][before]
        moves.apply(self._sources)
        known = self._exporters.known()
        _, first, number = np.unique(address_numbers(known), return_index=True, return_inverse=True)
        agents = np.full(len(places), -1)
        left = np.flatnonzero(places >= 0)
        agents[before[left]] = first[number[places[left]]]
        self._sources["agent"][: moves.kept] = first[number]
        newly = self._sources["init_ms"][agents[before[left]]] == 0
        self._sources["init_ms"][agents[before[left]][newly]] = init_ms[left][newly]
        keys = (known[name][first].tolist() for name in ("protocol", "high", "low"))
        self._agents = dict(zip(zip(*keys, strict=True), first.tolist(), strict=True))
        self._templates.move(places)
        self._exporters.reject_of_forgotten(NO_TEMPLATE, self._waiting.move(places))
        samplers = sampler.moved_samplers(self._samplers[: len(self._sampler_keys)], places, agents)
        self._samplers[: len(samplers)] = samplers
        self._sampler_keys.fill(sampler.sampler_keys(samplers))

    def _ready(self, row: int) -> None:
        """Fill in what the kernels must know of a new exporter."""
        exporter = self._exporters.rows[row]
        address = (int(exporter["high"]), int(exporter["low"]))
        source = self._sources[row]
        source["agent"] = self._agents.setdefault((int(exporter["protocol"]), *address), row)
        source["configured_rate"] = self._rates.of(from_words(*address))
        source["ready"] = 1

    def _more_sources(self) -> None:
        if len(self._sources) < len(self._exporters.rows):
            sources = np.zeros(len(self._exporters.rows), SOURCES)
            sources[: len(self._sources)] = self._sources
            self._sources = sources

    def _more_samplers(self) -> None:
        samplers = np.zeros(min(2 * len(self._samplers), sampler.MOST_SAMPLERS), SAMPLERS)
        samplers[: len(self._samplers)] = self._samplers
        self._samplers = samplers
        self._sampler_keys.resize(len(samplers))

    def _notes(self, row: int, account: ExporterStats, waiting: int) -> ExporterStats:
        source = self._sources[row]
        doubts = zip(DOUBT_TEXTS, source["doubts"].tolist(), strict=True)
        rejected = dict(account.rejected)
        if waiting:
            rejected[STILL_WAITING] = waiting
        return replace(
            account,
            rejected=rejected,
            sampling_rates=tuple(sorted(source["rates"][: int(source["rates_seen"])].tolist())),
            templates=self._templates.count(row),
            warnings=(*account.warnings, *(text.format(count) for text, count in doubts if count)),
        )
