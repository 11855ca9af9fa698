"""The consumer without a broker: what it says when there is none, and what ends it."""

import socket
import time

import pytest
from confluent_kafka import KafkaError

from capture.kafka.kafka_consumer import KafkaConsumer
from capture.kafka.offsets import Offsets
from datamodel.errors import InputError


def nowhere() -> dict[str, str]:
    """Settings of a broker that does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return {"bootstrap.servers": f"127.0.0.1:{server.getsockname()[1]}", "group.id": "g"}


def test_a_broker_that_is_away_is_told() -> None:
    """Polling goes on and says what is wrong; nothing is covered by such a batch."""
    feed = KafkaConsumer(nowhere(), ["flows"])
    ending, batch = time.monotonic() + 60, None
    while batch is None and time.monotonic() < ending:
        batch = feed.poll(0.2, 10)
    feed.close()
    assert batch is not None
    assert (batch.records, len(batch.flows), batch.offsets, batch.lost) == (0, 0, Offsets(), frozenset())
    assert batch.notes.warnings[0].startswith("kafka: ")


@pytest.mark.parametrize("code", [KafkaError._AUTHENTICATION, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_what_trying_again_does_not_mend_is_an_end(code: int) -> None:
    """Wrong credentials and missing rights end the feed in one line."""
    feed = KafkaConsumer(nowhere(), ["flows"])
    with pytest.raises(InputError, match=r"^kafka: .+$"):
        feed._complain(KafkaError(code))
    feed.close()


@pytest.mark.parametrize(
    ("settings", "cause"),
    [({"group.id": "g", "no.such": "x"}, "No such configuration property"), ({"bootstrap.servers": "b"}, "group.id")],
)
def test_settings_that_the_client_refuses(settings: dict[str, str], cause: str) -> None:
    """A setting that is unknown or missing is refused in one line."""
    with pytest.raises(InputError, match=f"^kafka: .*{cause}.*$"):
        KafkaConsumer(settings, ["flows"])


def test_offsets_of_partitions_that_are_not_ours_are_not_committed() -> None:
    """Nothing is sent to the broker, which is away, and nothing is waited for."""
    feed = KafkaConsumer(nowhere(), ["flows"])
    before = time.monotonic()
    feed.commit(Offsets({("flows", 0): 10}))
    assert time.monotonic() - before < 20  # a broker is waited for for a minute
    feed.close()
