"""Values of Kafka messages, in every form that collectors write."""

import json

import pytest

from capture.ingest_log import IngestLog
from capture.kafka.topic_formats import TopicValues, form_of
from datamodel.telemetry.flows import Flows
from tests.capture.dialects.test_pmacct import ROW as PMACCT
from tests.capture.goflow2.flow_messages import START_NS, message, prefixed
from tests.capture.records.test_record_files import GOFLOW2
from tests.capture.records.test_record_files import ROW as OWN


def decoded(*parts: list[bytes | None]) -> tuple[Flows, IngestLog]:
    """The last records of a topic whose values come in these parts, and what all of them left to say."""
    values, ingest_log = TopicValues("topic"), IngestLog()
    return [values.flows(part, ingest_log) for part in parts][-1], ingest_log


def text(row: dict[str, object]) -> bytes:
    """A row as JSON."""
    return json.dumps(row).encode()


@pytest.mark.parametrize(
    ("value", "size"),
    [(prefixed(message()), 9000), (message(), 9000), (text(GOFLOW2), 1500), (text(PMACCT), 9000), (text(OWN), 9000)],
)
def test_every_form(value: bytes, size: int) -> None:
    """The first value tells the form; every value of the topic is then read so."""
    flows, ingest_log = decoded([value] * 3)
    assert (flows.frame["bytes"].tolist(), ingest_log.rejected) == ([size] * 3, {})


def test_several_rows_in_a_value() -> None:
    """With kafka_multi_values pmacct writes several rows into one value."""
    flows, _ = decoded([text(PMACCT) + b"\n" + text(PMACCT | {"bytes": 1}), text(PMACCT | {"bytes": 2})])
    assert flows.frame["bytes"].tolist() == [9000, 1, 2]


def test_markers_come_first_and_alone() -> None:
    """Purge events tell nothing of the form, are no rows and no rejects; nor does a batch of nothing else fail."""
    markers = [text({"event_type": kind, "writer_id": "k/1"}) for kind in ("purge_init", "purge_close")]
    flows, ingest_log = decoded([*markers], [*markers, text(PMACCT)], [*markers])
    assert (len(flows), ingest_log.rejected) == (0, {})
    flows, ingest_log = decoded([*markers], [*markers, text(PMACCT), *markers])
    assert (len(flows), ingest_log.rejected) == (1, {})


def test_what_is_no_record_is_counted() -> None:
    """Values before the form is known, tombstones and values of another form each have their reason."""
    odd: list[bytes | None] = [b"hello", None, prefixed(message()), message(), b"", prefixed(message(src_addr=None))]
    flows, ingest_log = decoded(odd)
    assert len(flows) == 1
    assert ingest_log.rejected == {
        "message: of no known form": 1,
        "message: without a value": 2,
        "message: malformed protobuf": 1,
        "row: src_addr is missing": 1,
    }


def test_text_that_breaks_costs_only_itself() -> None:
    """A value that is no JSON among values that are."""
    flows, ingest_log = decoded([text(GOFLOW2)], [text(GOFLOW2), b"{broken", text(GOFLOW2)])
    assert (len(flows), dict(ingest_log.rejected)) == (2, {"row: not a JSON object": 1})


def test_text_that_is_no_utf_8_costs_only_itself() -> None:
    """Bytes of no character in an address: the record is left out and counted, as in a file."""
    flows, ingest_log = decoded([text(PMACCT), text(PMACCT).replace(b"10.0.0.1", b"10.0.\xff.1"), text(PMACCT)])
    assert (len(flows), ingest_log.rejected.total()) == (2, 1)


def test_forms_are_not_confused() -> None:
    """A message is never taken for its own prefixed form, whatever its length."""
    for size in range(0, 400, 7):
        body = message(note=bytes(size), time_received_ns=START_NS + size)
        assert form_of(body) != form_of(prefixed(body))
    assert form_of(b"[]") is form_of(b"{}") is form_of(text({"bytes": 1})) is None
