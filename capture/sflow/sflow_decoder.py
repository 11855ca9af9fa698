"""sFlow version 5 datagrams to flow records, interface counters and discarded packets, with an account per exporter."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv6Address, ip_address

import numpy as np
import numpy.typing as npt

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import Datagrams
from capture.exporters.exporter_table import MOST_EXPORTERS, REFUSED, TRIED_NS, ExporterTable, Table, busiest
from capture.packets.packet_columns import PACKET
from capture.packets.packet_rows import last_as_first
from capture.sflow.agent_stats import collect_agent_stats
from capture.sflow.batch_decoder import (
    ADDRESSES_A_DATAGRAM,
    ADDRESSES_SHORT,
    EXPORTERS_SHORT,
    ROWS,
    SOURCES_SHORT,
    STATE,
    Memory,
    Output,
    decode_batch,
)
from capture.sflow.flows import FLOW_COLUMNS
from capture.sflow.reasons import REASONS, SOURCES_FULL
from capture.sflow.samples import AGENT, MOMENT, MOST_SOURCES, SOURCE, source_keys
from capture.sflow.walk import HEAD, SAMPLE
from capture.tables.address_book import AddressBook
from capture.tables.addresses import MAPPED
from capture.tables.key_table import KeyTable
from capture.tables.packed_rows import pack_rows, unpack_rows
from capture.tables.row_blocks import BLOCK_ROWS, BlockWriter
from datamodel.frame import Frame, constant
from datamodel.telemetry.counters import COUNTERS, DROPS
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import FLOWS

_EXPORTERS_AT_ONCE = 1024
_FIRST_SOURCES = 4096
_MOST_SOURCES_OF_AN_EXPORTER = 4096  # where all together are too many: ports of the largest chassis, with breakouts


class SflowDecoder:
    """Decodes sFlow version 5 of any number of agents.

    An exporter is an agent address with a sub-agent, whatever address its datagrams come from. Memory: 1.3 kB an
    exporter and 100 bytes a data source, at most 65,536 of each, and 3 MB to work in.
    """

    def __init__(self, book: AddressBook, rates: SamplingRates) -> None:
        self._book = book
        self._table = ExporterTable()
        self._agents: Table = np.zeros(len(self._table.rows), AGENT)
        self._sources: Table = np.zeros(_FIRST_SOURCES, SOURCE)
        self._source_keys = KeyTable(2, _FIRST_SOURCES)
        self._strays = np.zeros(len(REASONS), np.int64)
        self._configured, self._configured_rates = _configured(rates)
        self._flows = BlockWriter(FLOWS, FLOW_COLUMNS, BLOCK_ROWS)
        self._counters, self._drops = (BlockWriter(schema, schema.names, ROWS) for schema in (COUNTERS, DROPS))
        self._ends = np.zeros((ROWS, 4), np.int64)
        self._rows = [np.zeros(1, kind) for kind in (STATE, HEAD, SAMPLE, MOMENT, PACKET)]
        self.thin(1)
        self._counter_frames: list[Frame] = []
        self._drop_frames: list[Frame] = []

    @property
    def refused(self) -> int:
        """Datagrams not decoded because they were of one exporter too many."""
        return int(self._table.full[REFUSED])

    @property
    def forgotten(self) -> int:
        """Exporters forgotten to make room for others."""
        return self._table.forgotten

    @property
    def rejected(self) -> Counter[str]:
        """What was left out, by reason."""
        strays = {text: int(count) for text, count in zip(REASONS, self._strays, strict=True) if count}
        return self._table.rejected(REASONS) + Counter(strays)

    @property
    def lost(self) -> Counter[str]:
        """What sequence numbers say is missing, by unit."""
        return self._table.lost()

    @property
    def exporters_known(self) -> int:
        """How many exporters were seen."""
        return len(self._table)

    @property
    def thinned(self) -> int:
        """Flow samples that this decoder left out since others stand for them."""
        return int(self._rows[0][0]["thinned"])

    def thin(self, one_in: int) -> None:
        """From now on keep one in so many flow samples, a power of two, and multiply their rates by it; 1 keeps all."""
        self._rows[0][0]["one_in"] = one_in

    def feed(self, batch: Datagrams) -> list[Frame]:
        """Flow records of the sFlow datagrams of a batch; address codes are of the book given at the beginning."""
        frames: list[Frame] = []
        state, place = self._rows[0][0], 0
        while place < len(batch):
            place = decode_batch(batch.data, batch.index, place, self._memory(), self._output())
            if state["stopped"] == EXPORTERS_SHORT:
                self._more_exporters(int(batch.index[place]["time_ns"]))
            elif state["stopped"] == ADDRESSES_SHORT:
                self._book.make_room(ADDRESSES_A_DATAGRAM)
            elif state["stopped"] == SOURCES_SHORT and len(self._sources) < MOST_SOURCES:
                self._more_sources(len(self._sources) + 1)
            elif state["stopped"] == SOURCES_SHORT:
                self._fewer_sources(int(batch.index[place]["time_ns"]))
            elif place < len(batch) or state["flows"] + state["counters"] + state["drops"]:
                frames.extend(self._emptied())
        return frames

    def take_counters(self) -> list[Frame]:
        """Counters decoded since the last time of asking."""
        frames, self._counter_frames = self._counter_frames, []
        return frames

    def take_drops(self) -> list[Frame]:
        """Discarded packets decoded since the last time of asking."""
        frames, self._drop_frames = self._drop_frames, []
        return frames

    def exporters(self, most: int | None = None) -> tuple[ExporterStats, ...]:
        """The accounts of the exporters with most records, at most so many, in order of first sight; None: of all."""
        known = self._table.known()
        return collect_agent_stats(known, self._agents, self._sources[: len(self._source_keys)], busiest(known, most))

    def state(self) -> dict[str, object]:
        """What another decoder needs to go on, as JSON values."""
        known, used = len(self._table), len(self._source_keys)
        return {
            "exporters": self._table.state(),
            "agents": pack_rows(self._agents[:known]),
            "sources": pack_rows(self._sources[:used]),
            "strays": self._strays.tolist(),
            "refused": self.refused,
        }

    def restore(self, state: object) -> None:
        """Go on where another decoder's `state` was taken; configured rates stay this decoder's own.

        Raises:
            ValueError, KeyError, TypeError: it is damaged; then nothing has changed.
        """
        if not isinstance(state, dict):
            raise TypeError("no JSON object")
        table = ExporterTable()
        table.restore(state["exporters"])
        agents, sources = unpack_rows(state["agents"], AGENT), unpack_rows(state["sources"], SOURCE)
        strays = np.array(state["strays"], np.int64)
        if len(agents) != len(table.known()) or len(sources) > MOST_SOURCES or strays.shape != self._strays.shape:
            raise ValueError("numbers of exporters, data sources or reasons do not fit")
        table.full[REFUSED] = int(state["refused"])
        self._table, self._strays = table, strays
        self._agents = np.zeros(len(table.rows), AGENT)
        self._agents[: len(agents)] = agents
        self._agents["begun"] = 0
        self._more_sources(len(sources))
        self._sources[: len(sources)] = sources
        self._source_keys.fill(source_keys(sources))

    def _memory(self) -> Memory:
        table = self._table
        return Memory(
            table.rows,
            table.keys,
            table.full,
            self._agents,
            self._sources,
            self._source_keys.keys,
            self._strays,
            self._configured.book,
            self._configured_rates,
        )

    def _output(self) -> Output:
        blocks = (self._flows.blocks, self._counters.blocks, self._drops.blocks)
        return Output(self._book.book, self._ends, *blocks, *self._rows)

    def _emptied(self) -> list[Frame]:
        """What the blocks hold, as frames; counters and drops are kept until they are asked for."""
        state = self._rows[0][0]
        if state["counters"]:
            self._counter_frames.append(Frame(COUNTERS, self._counters.taken(int(state["counters"]))))
        if state["drops"]:
            self._drop_frames.append(Frame(DROPS, self._drops.taken(int(state["drops"]))))
        frames = [self._packets(int(state["flows"]))] if state["flows"] else []
        state["flows"] = state["counters"] = state["drops"] = 0
        return frames

    def _packets(self, rows: int) -> Frame:
        """The first rows of the block of flow records, each one packet."""
        columns = last_as_first(self._flows.taken(rows))
        columns |= {"time_flow_end_ns": columns["time_flow_start_ns"], "packets": constant(1, "i8", rows)}
        return Frame(FLOWS, columns)

    def _more_exporters(self, now_ns: int) -> None:
        if len(self._table.rows) == MOST_EXPORTERS:
            self._forget(now_ns)
            return
        self._table.make_room(_EXPORTERS_AT_ONCE)
        agents = np.zeros(len(self._table.rows), AGENT)
        agents[: len(self._agents)] = self._agents
        self._agents = agents

    def _forget(self, now_ns: int) -> None:
        """Forget exporters and their data sources, so that new ones find room."""
        moves = self._table.forget(now_ns)
        if moves is None:
            return
        moves.apply(self._agents)
        sources = self._sources[: len(self._source_keys)].copy()
        sources["exporter"] = moves.places[sources["exporter"]]
        self._keep_sources(sources[sources["exporter"] >= 0])

    def _fewer_sources(self, now_ns: int) -> None:
        """Make room for data sources: those of forgotten exporters go, and of exporters that have more than any switch.

        Rates of the latter are checked again.
        """
        before = len(self._source_keys)
        self._forget(now_ns)
        sources = self._sources[: len(self._source_keys)]
        held = np.bincount(sources["exporter"], minlength=len(self._table))
        many = np.flatnonzero(held > _MOST_SOURCES_OF_AN_EXPORTER)
        self._table.rows["rejected"][many, SOURCES_FULL] += held[many]
        self._keep_sources(sources[~np.isin(sources["exporter"], many)])
        if len(self._source_keys) == before:
            self._table.full[TRIED_NS] = now_ns

    def _keep_sources(self, kept: Table) -> None:
        self._sources[: len(kept)] = kept
        self._sources[len(kept) :] = np.zeros(1, SOURCE)
        self._source_keys.fill(source_keys(kept))

    def _more_sources(self, sources: int) -> None:
        """Have room for so many data sources, those known included."""
        size = len(self._sources)
        while size < min(sources, MOST_SOURCES):
            size *= 2
        larger = np.zeros(size, SOURCE)
        larger[: len(self._sources)] = self._sources
        self._sources = larger
        self._source_keys.resize(size)


def _configured(rates: SamplingRates) -> tuple[AddressBook, npt.NDArray[np.int64]]:
    """Index the exporters with a configured rate; returns also the rates by code, last that of all others."""
    book = AddressBook()
    for text in rates.by_exporter:
        try:
            address = ip_address(text)
        except ValueError:  # an exporter by name is none of ours
            continue
        value = int(address) if isinstance(address, IPv6Address) else MAPPED | int(address)
        high, low = np.array([value >> 64, value & ((1 << 64) - 1)], np.uint64).astype(np.int64)
        book.code(int(high), int(low))
    by_code = [rates.of(text) for text in book.texts()]
    return book, np.array([*by_code, rates.otherwise], np.int64)
