"""A real broker, fed by a real GoFlow2 and a real pmacct, read by consumers that are killed."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from capture.kafka.kafka_consumer import KafkaBatch, KafkaConsumer
from capture.kafka.offsets import Offsets
from tests.capture.exported import netflow5, payloads, sflow_sums, sums
from tests.capture.goflow2.flow_messages import message, prefixed
from tests.capture.kafka_broker.broker import free_ports, goflow2, kafka, tool, topic
from tests.capture.kafka_broker.consumer import SETTINGS, durable, segments

pytestmark = pytest.mark.slow

ROUNDS = 20  # how often the few datagrams at hand are sent
RECORDS_A_ROUND = 38  # 30 sFlow samples and 8 NetFlow v5 records


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a broker that lives as long as this module's tests."""
    with kafka(tmp_path_factory.mktemp("kafka")) as address:
        yield address


def end_of(broker: str, name: str, partitions: int) -> int:
    """Messages in a topic."""
    probe = Consumer({"bootstrap.servers": broker, "group.id": "probe"})
    ends = [probe.get_watermark_offsets(TopicPartition(name, n), timeout=10)[1] for n in range(partitions)]
    probe.close()
    return sum(ends)


def consumer(folder: Path, broker: str, name: str, die: str) -> int:
    """Run the writer until it dies or all is quiet; its exit code."""
    command = [sys.executable, "-m", "tests.capture.kafka_broker.consumer", str(folder), broker, name, die]
    return subprocess.run(command, cwd=Path(__file__).parents[2], timeout=120, check=False).returncode


@pytest.mark.parametrize("form", ["bin", "json"])
def test_killed_consumers_lose_nothing_and_repeat_nothing(broker: str, tmp_path: Path, form: str) -> None:
    """Every record GoFlow2 wrote is in the manifest once, though consumers died before and after making it durable."""
    name = topic(broker, f"goflow2-{form}", 2)
    sflow_port, netflow_port, http_port = free_ports(3)
    with goflow2(broker, name, form, sflow_port, netflow_port, http_port), socket.socket(type=socket.SOCK_DGRAM) as out:
        for _ in range(ROUNDS):
            for source, port in (("sflow", sflow_port), ("netflow5", netflow_port)):
                for payload in payloads(source):
                    out.sendto(payload, ("127.0.0.1", port))
                    time.sleep(0.002)
        expected = ROUNDS * RECORDS_A_ROUND
        until = time.monotonic() + 30
        while end_of(broker, name, 2) < expected and time.monotonic() < until:
            time.sleep(0.2)
    assert end_of(broker, name, 2) == expected
    for die in ("between", "before", "between"):
        before = durable(tmp_path)
        assert consumer(tmp_path, broker, name, die) == -signal.SIGKILL
        assert (durable(tmp_path) == before) == (die == "before")
        assert committed(broker, name) == Offsets()  # the broker knows of nothing; the manifest does
    assert consumer(tmp_path, broker, name, "never") == 0
    assert committed(broker, name) == durable(tmp_path)
    kept = [json.loads(segment.read_text()) for segment in segments(tmp_path)]
    assert [segment["rejected"] for segment in kept] == [{}] * len(kept)
    rows = Counter(tuple(row) for segment in kept for row in segment["rows"])
    assert rows.total() == expected
    assert {count % ROUNDS for count in rows.values()} == {0}
    assert summed(rows, 32) == {key: (ROUNDS * size, ROUNDS * n) for key, (size, n) in sflow_sums().items()}
    assert summed(rows, 0) == {key: (ROUNDS * v[0], ROUNDS * v[1]) for key, v in netflow5().items()}


def summed(rows: Counter[tuple[object, ...]], rate: int) -> dict[tuple[object, ...], tuple[int, int]]:
    """Bytes and packets per flow of the rows of one sampling rate."""
    total: dict[tuple[object, ...], tuple[int, int]] = {}
    for row, count in rows.items():
        *key, size, packets, sampling_rate = row
        if sampling_rate == rate:
            before = total.get(tuple(key), (0, 0))
            assert isinstance(size, int)
            assert isinstance(packets, int)
            total[tuple(key)] = (before[0] + count * size, before[1] + count * packets)
    return total


def committed(broker: str, name: str) -> Offsets:
    """What the group has committed."""
    probe = Consumer({"bootstrap.servers": broker, "group.id": SETTINGS["group.id"]})
    places = probe.committed([TopicPartition(name, n) for n in range(2)], timeout=10)
    probe.close()
    return Offsets({(name, place.partition): place.offset for place in places if place.offset >= 0})


def polled(feed: KafkaConsumer, until: int, most: int = 1000) -> list[KafkaBatch]:
    """Batches of a feed until they hold so many records, or for a while."""
    batches: list[KafkaBatch] = []
    ending = time.monotonic() + 30
    while sum(batch.records for batch in batches) < until and time.monotonic() < ending:
        batch = feed.poll(0.5, most)
        batches += [batch] if batch is not None else []
    return batches


def produce(broker: str, name: str, values: list[bytes], partition: int) -> None:
    """Write values to a partition."""
    producer = Producer({"bootstrap.servers": broker})
    for value in values:
        producer.produce(name, value, partition=partition)
    assert producer.flush(30) == 0


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_work_of_a_lost_partition_is_not_committed(broker: str, strategy: str) -> None:
    """A partition that goes to another consumer takes its uncommitted records along: read there, not committed here."""
    name = topic(broker, f"rebalance-{strategy}", 2)
    settings = {
        "bootstrap.servers": broker,
        **SETTINGS,
        "group.id": strategy,
        "partition.assignment.strategy": strategy,
    }
    for partition in range(2):
        produce(broker, name, [prefixed(message(bytes=100 * partition + i)) for i in range(50)], partition)
    first, second = KafkaConsumer(settings, [name]), None
    try:
        taken = polled(first, 100)
        assert sum(batch.records for batch in taken) == 100
        offsets = Offsets()
        for batch in taken:
            offsets = offsets.joined(batch.offsets)
        assert offsets.following == {(name, 0): 50, (name, 1): 50}
        second = KafkaConsumer(settings, [name])
        told: list[KafkaBatch] = []
        theirs: list[KafkaBatch] = []
        ending = time.monotonic() + 40
        while not (theirs and any(batch.lost for batch in told)) and time.monotonic() < ending:
            told += [batch for batch in (first.poll(0.2, 1000),) if batch is not None]
            theirs += [batch for batch in (second.poll(0.2, 1000),) if batch is not None]
        again = {key for batch in theirs for key in batch.offsets.following}
        assert again
        assert again <= {key for batch in told for key in batch.lost}
        first.commit(offsets)
        seen = Consumer({"bootstrap.servers": broker, "group.id": strategy})
        for place in seen.committed([TopicPartition(*key) for key in again], timeout=10):
            assert place.offset < 0
        seen.close()
        for batch in theirs:
            second.commit(batch.offsets)
        assert sum(batch.records for batch in theirs) == 50 * len(again)
    finally:
        first.close()
        if second is not None:
            second.close()


def test_what_is_durable_is_not_read_again(broker: str) -> None:
    """Reading begins where the manifest or the broker's commit stands, whichever is further."""
    name = topic(broker, "durable", 2)
    for partition in range(2):
        produce(broker, name, [prefixed(message(bytes=100 * partition + i)) for i in range(50)], partition)
    settings = {"bootstrap.servers": broker, **SETTINGS, "group.id": "durable"}
    feed = KafkaConsumer(settings, [name])
    polled(feed, 100)
    feed.commit(Offsets({(name, 0): 20, (name, 1): 40}))
    feed.close()
    feed = KafkaConsumer(settings, [name], lambda: Offsets({(name, 0): 30, (name, 1): 10}))
    sizes = sorted(int(size) for batch in polled(feed, 30) for size in batch.flows.frame["bytes"])
    feed.close()
    assert sizes == [*range(30, 50), *range(140, 150)]


def test_pmacct_writes_json(broker: str, tmp_path: Path) -> None:
    """What nfacctd's Kafka plugin wrote of a datagram is what the datagram says; purge events are no rows."""
    name = topic(broker, "pmacct", 1)
    host, _, port = broker.partition(":")
    capture = Path(__file__).parents[1] / "data" / "collectors" / "netflow5.pcap"
    configuration = tmp_path / "pmacct.conf"
    configuration.write_text(
        f"daemonize: false\npcap_savefile: {capture}\nplugins: kafka[k]\nkafka_output[k]: json\n"
        f"kafka_topic[k]: {name}\nkafka_broker_host[k]: {host}\nkafka_broker_port[k]: {port}\n"
        "kafka_refresh_time[k]: 2\nkafka_markers[k]: true\ntimestamps_since_epoch: true\n"
        "aggregate[k]: peer_src_ip, src_host, dst_host, src_port, dst_port, proto, timestamp_start, timestamp_end\n"
    )
    subprocess.run([tool("nfacctd"), "-f", str(configuration)], capture_output=True, check=False, timeout=60)
    feed = KafkaConsumer({"bootstrap.servers": broker, **SETTINGS, "group.id": "pmacct"}, [name])
    batches = polled(feed, len(netflow5()))
    feed.close()
    flows = [sums(batch.flows) for batch in batches if batch.records]
    assert flows == [{key: record[:2] for key, record in netflow5().items()}]
    assert [batch.notes.rejected for batch in batches] == [{}] * len(batches)
