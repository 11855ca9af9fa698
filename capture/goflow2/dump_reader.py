"""FlowMessages of GoFlow2 to flow records, batch by batch: from a stream of length-prefixed ones, or one by one.

GoFlow2's file transport puts each message behind its length (a varint) and, by default, a line feed behind
it. It writes message and line feed apart, so that under load two messages may stand side by side and their line feeds
behind them: any number of line feeds is taken between messages. (Read as a length, a line feed announces ten bytes,
which cannot hold the two times that a record needs.)

Where a message is malformed and nothing sound follows it, the next sound one is searched byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from capture.goflow2.flow_message import (
    COLUMNS,
    EXPORT_SECOND,
    FIELDS,
    FRAMES,
    KNOWN,
    MALFORMED,
    NOTE_BAD_SAMPLER,
    NOTE_EXPORT_SECOND,
    NOTE_FRAMES,
    NOTE_UNKNOWN_FIELDS,
    NOTES,
    REASONS,
    is_flow_message,
)
from capture.goflow2.message_scanner import CUT, DAMAGE, LONGEST_MESSAGE_BYTES, ROWS, STATE, decode_each, scan, sound
from capture.ingest_log import IngestLog
from capture.tables.address_book import AddressBook
from capture.tables.read_buffer import ReadBuffer, as_array
from capture.tables.row_blocks import BLOCK_ROWS, BlockWriter
from datamodel.frame import Array, Frame, empty
from datamodel.telemetry.flows import FLOWS, Flows, recode

SHOWN_OFFSETS = 5


class FlowMessages:
    """Decodes FlowMessages of one source.

    Memory: about 100 bytes a record and what the address book takes, until `flows` is called.
    """

    def __init__(self) -> None:
        self._book = AddressBook()
        self._rows = BlockWriter(FLOWS, COLUMNS, BLOCK_ROWS)
        self._parts: dict[str, list[Array]] = {name: [] for name in COLUMNS}
        self._window = ReadBuffer()
        self._appended = 0
        self._values, self._lengths = np.zeros(FIELDS, np.int64), np.zeros(FIELDS, np.int64)
        self._notes, self._rejected = np.zeros(NOTES, np.int64), np.zeros(len(REASONS), np.int64)
        self._state = np.zeros(STATE, np.int64)
        self._damage: list[int] = []

    def feed(self, block: bytes, last: bool = False) -> None:
        """Decode the next bytes of a stream of length-prefixed messages; `last` if nothing follows them."""
        window = self._window
        window.append(block)
        self._appended += len(block)
        while True:
            self._book.make_room(3 * BLOCK_ROWS)
            window.start = scan(
                window.data, window.start, window.end, last, KNOWN, self._values, self._lengths, self._notes,
                self._rejected, self._book.words, self._book.slots, self._book.used, self._rows.blocks, self._state,
            )  # fmt: skip
            self._keep(int(self._state[ROWS]))
            if self._state[DAMAGE] >= 0 and len(self._damage) < SHOWN_OFFSETS:
                self._damage.append(int(self._state[DAMAGE]) + self._appended - window.end)
            if self._state[ROWS] < BLOCK_ROWS:
                return

    def feed_each(self, messages: Sequence[bytes], prefixed: bool) -> None:
        """Decode messages that come one by one, each with or without its length in front."""
        for first in range(0, len(messages), BLOCK_ROWS):
            part = messages[first : first + BLOCK_ROWS]
            bounds = np.cumsum([0, *map(len, part)], dtype=np.int64)
            self._book.make_room(3 * BLOCK_ROWS)
            rows = decode_each(
                as_array(b"".join(part)), bounds, prefixed, KNOWN, self._values, self._lengths,
                self._notes, self._rejected, self._book.words, self._book.slots, self._book.used, self._rows.blocks,
            )  # fmt: skip
            self._keep(rows)

    def flows(self) -> Flows:
        """The records decoded since the last time of asking."""
        whole = {name: np.concatenate(parts) for name, parts in self._parts.items() if parts}
        flows = recode(Frame(FLOWS, whole) if whole else empty(FLOWS), self._book.texts())
        self._parts = {name: [] for name in COLUMNS}
        self._book.clear()
        return flows

    def account(self, name: str, ingest_log: IngestLog) -> None:
        """Report what was rejected or doubtful since the last call to `ingest_log`, with reasons.

        Args:
            name: of the file or topic, for warnings.
            ingest_log: receives counts and warnings.
        """
        for reason, count in zip(REASONS, self._rejected, strict=True):
            ingest_log.reject(reason, int(count))
        if self._damage:
            first = ", ".join(map(str, self._damage))
            ingest_log.warn(f"{name}: {self._rejected[MALFORMED]} malformed messages, the first at byte {first}")
        if self._state[CUT]:
            ingest_log.warn(f"{name}: ends inside a message (truncated file); all messages before it were read")
        for place, what in (
            (NOTE_UNKNOWN_FIELDS, "fields of unknown number were skipped"),
            (NOTE_FRAMES, f"messages {FRAMES}"),
            (NOTE_EXPORT_SECOND, f"messages {EXPORT_SECOND}"),
            (NOTE_BAD_SAMPLER, "messages have a sampler_address that is no address; taken as unknown"),
        ):
            if self._notes[place]:
                ingest_log.warn(f"{name}: {self._notes[place]} {what}")
        self._notes[:], self._rejected[:], self._damage = 0, 0, []

    def _keep(self, rows: int) -> None:
        if rows:
            for name, column in self._rows.taken(rows).items():
                self._parts[name].append(column)


def begins_with_message(head: bytes) -> bool:
    """Whether a file that begins with `head` is a dump of length-prefixed FlowMessages."""
    data = as_array(head.lstrip(b"\n"))
    values, lengths = np.zeros(FIELDS, np.int64), np.zeros(FIELDS, np.int64)
    return bool(sound(data, 0, len(data), LONGEST_MESSAGE_BYTES, KNOWN, values, lengths))


def is_message(value: bytes) -> bool:
    """Whether `value` is one FlowMessage, without its length in front."""
    values, lengths = np.zeros(FIELDS, np.int64), np.zeros(FIELDS, np.int64)
    return bool(is_flow_message(as_array(value), 0, len(value), KNOWN, values, lengths))


def read_dump(content: Iterable[bytes], name: str, ingest_log: IngestLog) -> Flows:
    """The flow records of a dump of length-prefixed FlowMessages.

    Args:
        content: the file's decompressed content, in blocks.
        name: of the file, for warnings.
        ingest_log: receives what was rejected or doubtful.
    """
    messages = FlowMessages()
    for block in content:
        messages.feed(block)
    messages.feed(b"", last=True)
    messages.account(name, ingest_log)
    return messages.flows()
