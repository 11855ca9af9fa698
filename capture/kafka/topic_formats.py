"""Values of Kafka messages to flow records, in whichever form the collector writes that topic.

GoFlow2 writes protobuf (one FlowMessage a value, behind its length) or JSON, pmacct JSON (one object a value, or
several lines). The first value with a known format decides for its topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum

from capture.dialects.dialect import RecordDialect
from capture.goflow2.dump_reader import FlowMessages, begins_with_message, is_message
from capture.ingest_log import IngestLog
from capture.records.record_columns import FlowRowBuilder
from capture.records.record_text import dialect_of, json_rows, json_schema, json_table
from datamodel.telemetry.flows import Flows

UNKNOWN_FORM = "message: of no known form"
NO_VALUE = "message: without a value"


class Protobuf(Enum):
    """FlowMessages of GoFlow2, and whether a value begins with its length."""

    PREFIXED = True
    BARE = False


Form = Protobuf | RecordDialect


class TopicValues:
    """Decodes the values of one topic.

    Args:
        topic: its name, for warnings.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._form: Form | None = None
        self._messages = FlowMessages()

    def flows(self, values: Sequence[bytes | None], ingest_log: IngestLog) -> Flows:
        """The records of some values, in their order.

        Args:
            values: as they came; None is a tombstone.
            ingest_log: receives what gave no record, and why.
        """
        present = [value for value in values if value]
        ingest_log.reject(NO_VALUE, len(values) - len(present))
        unknown = 0
        while self._form is None and unknown < len(present):
            self._form = form_of(present[unknown])
            unknown += self._form is None
        ingest_log.reject(UNKNOWN_FORM, sum(not _is_marker(value) for value in present[:unknown]))
        if isinstance(self._form, RecordDialect):
            return self._rows(self._form, present[unknown:], ingest_log)
        if self._form is not None:
            self._messages.feed_each(present[unknown:], prefixed=self._form.value)
        self._messages.account(self._topic, ingest_log)
        return self._messages.flows()

    def _rows(self, dialect: RecordDialect, values: Sequence[bytes], ingest_log: IngestLog) -> Flows:
        rows, doubts = FlowRowBuilder(ingest_log), Counter[str]()
        block = b"\n".join(values)
        if block.strip():
            table = json_table(block, json_schema(json_rows(block), dialect), ingest_log)
            rows.add(dialect.translate(table, doubts))
        for doubt, count in doubts.items():
            if count:
                ingest_log.warn(f"{self._topic}: {count} rows {doubt}")
        return rows.flows()


def form_of(value: bytes) -> Form | None:
    """Detect the format of a value; None where it is unknown or the value has no record (pmacct's purge events)."""
    if value.lstrip().startswith(b"{"):
        names = {name for row in json_rows(value) for name in row}
        dialect = dialect_of(names)
        return dialect if all(set(group) & names for group in dialect.required) else None
    if begins_with_message(value):
        return Protobuf.PREFIXED
    return Protobuf.BARE if is_message(value) else None


def _is_marker(value: bytes) -> bool:
    """Whether a value is pmacct's word on when a purge begins or ends."""
    return any("event_type" in row and "ip_src" not in row for row in json_rows(value))
