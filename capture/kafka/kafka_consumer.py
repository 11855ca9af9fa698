"""A Kafka consumer that yields flow records with the offsets they cover, and commits those on request.

The writer's loop: poll, make the records and their offsets durable in one step, commit, and only then poll again. If it
dies before the step, the records are read again; if it dies between step and commit, `durable` lets the next consumer
begin behind them. So nothing is lost or duplicated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from capture.ingest_log import IngestLog
from capture.kafka.assignment import Assignment, Record
from capture.kafka.offsets import Offsets, Partition
from capture.kafka.topic_formats import TopicValues
from capture.reader import merged
from datamodel.errors import InputError
from datamodel.frame import empty
from datamodel.telemetry.flows import FLOWS, Flows, IngestNotes
from datamodel.telemetry.ingest_result import IngestResult

# What the feed's promise rests on; a user's settings cannot change it.
_FIXED = {"enable.auto.commit": "false", "enable.auto.offset.store": "false", "enable.partition.eof": "false"}
# Errors that a retry does not fix.
_FINAL = (
    KafkaError._AUTHENTICATION,  # noqa: SLF001 - the client's own codes are named so
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
_DEFAULTS = {"auto.offset.reset": "earliest"}


@dataclass(frozen=True, slots=True)
class KafkaBatch:
    """Records of one poll.

    Attributes:
        flows: the records, address book canonical.
        notes: what gave no record, by reason, and warnings for people, the client's own included.
        offsets: behind the last message of each partition in the batch, whether it gave records or not.
        records: rows of `flows`.
        lost: partitions that were taken away while records of earlier batches were not committed; their next consumer
            reads those again, from where `durable` says. Empty for a writer that commits before it polls again.
    """

    flows: Flows
    notes: IngestNotes
    offsets: Offsets
    records: int
    lost: frozenset[Partition]


class KafkaConsumer:
    """Flow records from the topics that GoFlow2 or pmacct write to.

    Args:
        settings: librdkafka's, by their names there: `bootstrap.servers` and `group.id` at least. Automatic commits
            are off whatever they say; a group without commits begins at the earliest record unless they say else.
        topics: names, or regular expressions that begin with "^".
        durable: what is durable already, asked whenever partitions are assigned; a manifest's newest offsets.

    Raises:
        InputError: the client refuses the settings.
    """

    def __init__(
        self, settings: Mapping[str, str], topics: Sequence[str], durable: Callable[[], Offsets] = Offsets
    ) -> None:
        cooperative = "cooperative" in settings.get("partition.assignment.strategy", "")
        self._topics: dict[str, TopicValues] = {}
        self._assignment = Assignment(durable, cooperative)
        self._ledger = IngestLog()
        try:
            self._consumer = Consumer({**_DEFAULTS, **settings, **_FIXED, "error_cb": self._complain})
            give_up = self._assignment.revoke
            self._consumer.subscribe(
                list(topics), on_assign=self._assignment.assign, on_revoke=give_up, on_lost=give_up
            )
        except (KafkaException, ValueError, TypeError) as error:
            raise InputError(f"kafka: {_one_line(error)}") from None

    def poll(self, timeout_s: float, most: int) -> KafkaBatch | None:
        """The next records, at most those of `most` messages; None where nothing came and nothing is to be said.

        Raises:
            InputError: the client cannot go on (authentication, authorisation, a fatal error).
        """
        try:
            messages = self._consumer.consume(most, timeout_s)
        except KafkaException as error:
            raise InputError(f"kafka: {_one_line(error)}") from None
        records = self._assignment.accepted(
            record for message in messages if (record := self._record(message)) is not None
        )
        lost = self._assignment.take_lost()
        ingest_log, self._ledger = self._ledger, IngestLog()
        if not (records or lost or ingest_log.warnings):
            return None
        flows = self._decoded(records, ingest_log)
        offsets = Offsets({record.partition: record.offset + 1 for record in records})
        return KafkaBatch(flows, ingest_log.notes(), offsets, len(flows), lost)

    def commit(self, offsets: Offsets) -> None:
        """Commit these offsets to the broker: everything before them is durable. Waits for its answer.

        Partitions that were taken away meanwhile are left out: they are another's. Where the broker refuses, the next
        batch's notes say so, and `durable` is what stands.
        """
        ours = self._assignment.ours(offsets)
        if not ours.following:
            return
        places = [TopicPartition(topic, number, offset) for (topic, number), offset in ours.following.items()]
        try:
            answers = self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as failure:
            self._ledger.warn(f"kafka: offsets are not committed: {_one_line(failure)}")
            return
        refused = [answer.error for answer in answers if answer.error is not None]
        for error in refused:
            self._ledger.warn(f"kafka: offsets are not committed: {error.str()}")
        if not refused:
            self._assignment.committed(ours)

    def close(self) -> None:
        """Leave the group; nothing is committed by this."""
        self._consumer.close()

    def _record(self, message: Message) -> Record | None:
        """Convert a message to its place and value; None for an error, which is reported."""
        error = message.error()
        if error is not None:
            self._complain(error)
            return None
        topic, number, offset = message.topic(), message.partition(), message.offset()
        if topic is None or number is None or offset is None:
            raise InputError("kafka: a message without a place")
        return Record((topic, number), offset, message.value())

    def _complain(self, error: KafkaError) -> None:
        """Keep an error for the next batch's notes; a client that cannot go on is an end.

        Raises:
            InputError: there is no going on.
        """
        if error.fatal() or error.code() in _FINAL:
            raise InputError(f"kafka: {error.str()}")
        self._ledger.warn(f"kafka: {error.str()}")

    def _decoded(self, records: Sequence[Record], ingest_log: IngestLog) -> Flows:
        """Flow records of all topics, each topic's in its order."""
        values: dict[str, list[bytes | None]] = {}
        for record in records:
            values.setdefault(record.partition[0], []).append(record.value)
        parts = [
            self._topics.setdefault(topic, TopicValues(topic)).flows(of_topic, ingest_log)
            for topic, of_topic in sorted(values.items())
        ]
        if not parts:
            return Flows(empty(FLOWS), ())
        return merged([IngestResult(part, IngestNotes(), len(part), 0, ()) for part in parts]).flows


def _one_line(error: Exception) -> str:
    """What the client says, in one line."""
    said: object = error.args[0] if error.args else error
    return (said.str() if isinstance(said, KafkaError) else str(said)).splitlines()[0]
