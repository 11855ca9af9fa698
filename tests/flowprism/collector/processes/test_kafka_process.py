"""Kafka topics end as committed flow records, each message once, whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from datamodel.errors import InputError
from flowprism.collector.sources import DEFAULT_GROUP, kafka_source
from storage.lake.lake_reader import read_lake
from storage.lake.log import read_manifests
from tests.capture.frames import pcap, tcp_frame
from tests.capture.goflow2.flow_messages import message, prefixed
from tests.capture.kafka_broker.broker import kafka, topic
from tests.flowprism.collector.running import Collector
from tests.house.checkout import ROOT

COMMAND = [sys.executable, "-c", "from flowprism.cli import main; main()", "collect", "--commit-every", "0.1"]
MODULE = "collector.processes.kafka_process"
QUICK = ("session.timeout.ms=1000", "heartbeat.interval.ms=200")
PATIENCE_S = 120.0
MIRRORED_BYTES = 1040  # IP and TCP headers, 1000 bytes of payload

# Put before the real process: it dies right behind its first commit that holds records, before the broker hears of it.
DIES_BETWEEN = """
import os, signal, runpy
from pathlib import Path
from capture.kafka.kafka_consumer import KafkaConsumer
real = KafkaConsumer.commit
def commit(self, offsets):
    try:
        Path({once!r}).touch(exist_ok=False)
    except FileExistsError:
        return real(self, offsets)
    os.kill(os.getpid(), signal.SIGKILL)
KafkaConsumer.commit = commit
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a broker that lives as long as this module's tests."""
    with kafka(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@contextmanager
def collecting(out: Path, broker: str, topics: str, **environment: str) -> Iterator[Collector]:
    """A collector of topics, from the command line."""
    settings = [f"--kafka-setting={setting}" for setting in (f"bootstrap.servers={broker}", *QUICK)]
    collector = Collector(out)
    collector.process = subprocess.Popen(
        [*COMMAND, "--out", str(out), "--kafka", topics, *settings],
        cwd=ROOT,
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield collector
    finally:
        collector.kill_all()


def until(condition: Callable[[], bool], told: Callable[[], object]) -> None:
    """Wait for something to come true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, told()
        time.sleep(0.05)


def until_kept(collector: Collector, records: int) -> None:
    """Wait until so many records are committed."""
    until(lambda: (collector.out / "manifest").is_dir() and len(collector.kept()) >= records, collector.status)


def produce(broker: str, name: str, numbers: range, partitions: int = 2) -> None:
    """Write a GoFlow2 message for each number, which its record has as `bytes`."""
    producer = Producer({"bootstrap.servers": broker})
    for number in numbers:
        producer.produce(name, prefixed(message(bytes=number)), partition=number % partitions)
    assert producer.flush(30) == 0


def committed(broker: str, name: str, partitions: int = 2) -> list[int]:
    """What the broker knows to be committed, by partition."""
    probe = Consumer({"bootstrap.servers": broker, "group.id": DEFAULT_GROUP})
    places = probe.committed([TopicPartition(name, n) for n in range(partitions)], timeout=10)
    probe.close()
    return [place.offset for place in places]


def source(collector: Collector) -> dict[str, Any]:
    """What the status tells of the only source."""
    status = collector.status()
    assert status is not None
    (only,) = status["sources"]
    assert isinstance(only, dict)
    return only


@pytest.mark.slow
def test_topics_are_kept(broker: str, tmp_path: Path) -> None:
    """All messages of two topics are in committed records; at the end the broker knows, and a restart repeats none."""
    names = [topic(broker, name, 2) for name in ("kept-a", "kept-b")]
    for at, name in enumerate(names):
        produce(broker, name, range(1 + 1000 * at, 501 + 1000 * at))
    with collecting(tmp_path, broker, ",".join(names)) as collector:
        until_kept(collector, 1000)
        said = collector.stop()
    assert collector.kept() == [*range(1, 501), *range(1001, 1501)]
    assert "flow records 1000" in said
    assert source(collector)["durable"] == 1000
    assert [committed(broker, name) for name in names] == [[250, 250], [250, 250]]
    produce(broker, names[0], range(5001, 5011))
    with collecting(tmp_path, broker, ",".join(names)) as collector:
        until_kept(collector, 1010)
        collector.stop()
    assert collector.kept() == [*range(1, 501), *range(1001, 1501), *range(5001, 5011)]


@pytest.mark.slow
def test_killed_consumers_repeat_nothing(broker: str, tmp_path: Path) -> None:
    """Killed at any moment, again and again: every message is there once."""
    name = topic(broker, "killed", 2)
    with collecting(tmp_path, broker, name) as collector:
        for turn in range(4):
            produce(broker, name, range(1 + 1000 * turn, 1001 + 1000 * turn))
            until(lambda: len(collector.children(MODULE)) == 1, collector.status)
            time.sleep(1.0 + 0.7 * turn)
            for process in collector.children(MODULE):
                os.kill(process, signal.SIGKILL)
        until_kept(collector, 4000)
        collector.stop()
    assert collector.kept() == list(range(1, 4001))
    assert source(collector)["deaths"] >= 1
    assert sum(s.rows for m in read_manifests(tmp_path) for c in m.commits for s in c.segments) == 4000


@pytest.mark.slow
@pytest.mark.parametrize("everything", [False, True])
def test_death_between_manifest_and_broker(broker: str, tmp_path: Path, everything: bool) -> None:
    """Who dies between its commit and the broker's repeats nothing: not its successor, and no later session."""
    name = topic(broker, f"between-{everything}", 2)
    produce(broker, name, range(1, 101))
    out, hooks = tmp_path / "out", tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(
        "import sys\nif 'flowprism.collector.processes.kafka_process' in sys.orig_argv:\n"
        + "".join(f"    {line}\n" for line in DIES_BETWEEN.format(once=str(tmp_path / "once")).splitlines())
    )
    with collecting(out, broker, name, PYTHONPATH=str(hooks)) as collector:
        until((tmp_path / "once").exists, collector.status)
        if everything:
            collector.kill_all()
            assert committed(broker, name) != [50, 50]
        else:
            until_kept(collector, 100)
            produce(broker, name, range(101, 201))
            until_kept(collector, 200)
            collector.stop()
    if everything:
        mirror_session(out)
        produce(broker, name, range(101, 201))
        with collecting(out, broker, name) as collector:
            until_kept(collector, 201)
            time.sleep(1)
            collector.stop()
    assert collector.kept() == sorted([*range(1, 201), MIRRORED_BYTES] if everything else range(1, 201))


def mirror_session(out: Path) -> None:
    """A session in between that reads no topics, and keeps one packet."""
    content = pcap([(1, tcp_frame(1, 1000))])
    subprocess.run([*COMMAND, "--out", str(out), "--mirror", "-"], cwd=ROOT, input=content, check=True)


@pytest.mark.slow
def test_messages_of_no_form_are_counted(broker: str, tmp_path: Path) -> None:
    """What is no flow record is rejected by reason, in the status and in the manifest."""
    name = topic(broker, "odd", 1)
    producer = Producer({"bootstrap.servers": broker})
    for value in (b"hello", prefixed(message(bytes=1)), b""):
        producer.produce(name, value)
    assert producer.flush(30) == 0
    with collecting(tmp_path, broker, name) as collector:
        until_kept(collector, 1)
        collector.stop()
    assert read_lake(tmp_path).notes.rejected == {"message: of no known form": 1, "message: without a value": 1}


@pytest.mark.parametrize(("topics", "settings", "complaint"), [
    ("flows", (), "--kafka flows: --kafka-setting bootstrap.servers=HOST:PORT is missing"),
    ("flows", ("bootstrap.servers",), "--kafka-setting bootstrap.servers: expected NAME=VALUE"),
    ("", ("bootstrap.servers=a:1",), "--kafka-setting bootstrap.servers: there is no --kafka"),
])  # fmt: skip
def test_wrong_options(topics: str, settings: tuple[str, ...], complaint: str) -> None:
    """What is missing or is no setting is named."""
    with pytest.raises(InputError) as caught:
        kafka_source(topics, settings)
    assert str(caught.value) == complaint


def test_a_setting_that_does_not_exist(tmp_path: Path) -> None:
    """The client's own complaint is one line, and the exit code is 2."""
    settings = ("--kafka-setting", "bootstrap.servers=127.0.0.1:1", "--kafka-setting", "no.such=1")
    command = [*COMMAND, "--out", str(tmp_path), "--kafka", "flows", *settings]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("flowprism: kafka: ")
    assert "no.such" in done.stderr.splitlines()[-1]
