"""A writer as it should be: its manifest is a folder of files, each written in one step with records and offsets.

usage: python -m tests.capture.kafka_broker.consumer FOLDER SERVER TOPIC DIE

DIE is where it kills itself, without a word to anyone: "before" the step, "between" step and commit, or "never"; then
it ends when nothing has come for some seconds.
"""

import json
import os
import signal
import sys
from pathlib import Path

from capture.kafka.kafka_consumer import KafkaBatch, KafkaConsumer
from capture.kafka.offsets import Offsets

SETTINGS = {"group.id": "flowprism", "session.timeout.ms": "1000", "heartbeat.interval.ms": "200"}
QUIET_POLLS = 5
BATCH_MESSAGES = 150


def segments(folder: Path) -> list[Path]:
    """What is durable, in order."""
    return sorted(folder.glob("*.json"))


def durable(folder: Path) -> Offsets:
    """What the manifest covers."""
    covered = Offsets()
    for segment in segments(folder):
        covered = covered.joined(Offsets.from_json(json.loads(segment.read_text())["offsets"]))
    return covered


def write(folder: Path, batch: KafkaBatch) -> None:
    """Make a batch durable: all of it or nothing."""
    frame, book = batch.flows.frame, batch.flows.addresses
    names = ("src_addr", "dst_addr", "src_port", "dst_port", "bytes", "packets", "sampling_rate")
    rows = [
        [book[source], book[target], *rest]
        for source, target, *rest in zip(*(frame[n].tolist() for n in names), strict=True)
    ]
    said = {"offsets": batch.offsets.to_json(), "rows": rows, "rejected": dict(batch.notes.rejected)}
    path = folder / f"{len(segments(folder)):06d}"
    with path.open("w") as file:
        json.dump(said, file)
        file.flush()
        os.fsync(file.fileno())
    path.rename(path.with_suffix(".json"))


def main(folder: Path, server: str, topic: str, die: str) -> None:
    """Consume until killed or until it is quiet."""
    feed = KafkaConsumer({"bootstrap.servers": server, **SETTINGS}, [topic], lambda: durable(folder))
    quiet = 0
    while quiet < QUIET_POLLS:
        batch = feed.poll(1.0, BATCH_MESSAGES)
        quiet = quiet + 1 if batch is None or not batch.records else 0
        if batch is None:
            continue
        if die == "before" and batch.records:
            os.kill(os.getpid(), signal.SIGKILL)
        write(folder, batch)
        if die == "between" and batch.records:
            os.kill(os.getpid(), signal.SIGKILL)
        feed.commit(batch.offsets)
    feed.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:5])
