"""The soak's feed: the recorded job over and over, three leaves by UDP, the fourth by a Kafka topic if there is one."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from confluent_kafka import Producer

from capture.exporters.datagram import Datagrams
from flowprism.demo.demo_feed import HOLD_NS, DemoBursts, build_datagrams
from flowprism.replay.send_schedule import SendPace
from flowprism.replay.sender import send
from tests.capture.goflow2.flow_messages import message, prefixed
from tests.flowprism.service.scans.feeding import parts

TOPIC = "flows"
BY_TOPIC = 4  # the leaf whose records another collector writes to the topic
FAULT = "sss"
# After a fault so much health that it has left a window of a minute, three scans were quiet, and some time to spare.
BETWEEN = 20
_HEAD_START_NS = 500_000_000


def order_of(faults: int, first_gap: int = BETWEEN) -> str:
    """Healthy and slow parts with so many faults among them; `first_gap` healthy parts follow the first one."""
    return "h" * 6 + FAULT + "h" * first_gap + (FAULT + "h" * BETWEEN) * (faults - 1)


def seconds_of(order: str) -> float:
    """How long it takes to play."""
    return sum(parts()[name][1] for name in order)


@dataclass(slots=True)
class Feed:
    """What is played, and when.

    Attributes:
        order: `h` and `s` parts.
        port: of the service's UDP socket.
        broker: where the fourth leaf's records go, into `TOPIC`; empty where there is none, and they come by UDP too.
        begin_ns: when the first part begins, UTC.
    """

    order: str
    port: int
    broker: str
    begin_ns: int = 0
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin to play now."""
        self.begin_ns = time.time_ns() + _HEAD_START_NS
        works = (self._by_udp, self._by_topic) if self.broker else (self._by_udp,)
        self._threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def wait_until(self, after_s: float) -> None:
        """Sleep until so long after the begin."""
        time.sleep(max(self.begin_ns / 1e9 + after_s - time.time(), 0.0))

    def join(self) -> None:
        """Return when all is played and delivered."""
        for thread in self._threads:
            thread.join()

    def faults_ns(self) -> list[tuple[int, int]]:
        """Begin and end of each fault."""
        edges = [0, *(n for n, (a, b) in enumerate(pairwise(self.order), 1) if a != b), len(self.order)]
        begins = [begin_ns for _, begin_ns in self._schedule()]
        begins.append(self.begin_ns + round(seconds_of(self.order) * 1e9))
        return [(begins[a], begins[b]) for a, b in pairwise(edges) if self.order[a] == "s"]

    def _schedule(self) -> Iterator[tuple[str, int]]:
        at_ns = self.begin_ns
        for name in self.order:
            yield name, at_ns
            at_ns += round(parts()[name][1] * 1e9)

    def _by_udp(self) -> None:
        send(self._datagrams(), "127.0.0.1", self.port, SendPace())

    def _datagrams(self) -> Iterator[Datagrams]:
        numbers = Counter[int]()
        for name, begin_ns in self._schedule():
            bursts, behind_ns = _of_leaves(name, range(1, BY_TOPIC if self.broker else BY_TOPIC + 1))
            made = build_datagrams(bursts, begin_ns + behind_ns - HOLD_NS, numbers)
            if begin_ns == self.begin_ns:  # the sender counts from the first datagram that it gets
                time.sleep(max((int(made.index["time_ns"][0]) - time.time_ns()) / 1e9, 0.0))
            yield made

    def _by_topic(self) -> None:
        # A producer keeps what a broker that is away cannot take, in order, for as long as the test may last.
        producer = Producer(
            {"bootstrap.servers": self.broker, "message.timeout.ms": "600000", "enable.idempotence": "true",
             "reconnect.backoff.max.ms": "1000", "log_level": "0"}
        )  # fmt: skip
        for name, begin_ns in self._schedule():
            bursts, behind_ns = _of_leaves(name, (BY_TOPIC,))
            for due_ns, value in _messages(bursts, begin_ns + behind_ns - HOLD_NS):
                time.sleep(max((due_ns - time.time_ns()) / 1e9, 0.0))
                producer.produce(TOPIC, value)
                producer.poll(0)
        assert producer.flush(300) == 0


def _of_leaves(name: str, leaves: Sequence[int]) -> tuple[DemoBursts, int]:
    """The bursts of a part that some leaves export, and how long after the part's begin their first one is."""
    whole, _ = parts()[name]
    kept = np.flatnonzero(np.isin(whole.leaf, list(leaves)))
    own = DemoBursts(whole.rows.take(kept), whole.leaf[kept], whole.port[kept], whole.addresses)
    return own, int(own.rows["time_flow_start_ns"].min() - whole.rows["time_flow_start_ns"].min())


def _messages(bursts: DemoBursts, begin_ns: int) -> Iterator[tuple[int, bytes]]:
    """GoFlow2's message of each burst, and when its collector would have it."""
    moved_ns = begin_ns - int(bursts.rows["time_flow_start_ns"].min())
    names = ("time_flow_start_ns", "time_flow_end_ns", "src_addr", "dst_addr", "src_port", "dst_port", "proto",
             "tcp_flags", "bytes", "packets")  # fmt: skip
    columns = [bursts.rows[name].tolist() for name in names]
    address = [int(number).to_bytes(4, "big") for number in bursts.addresses]
    for port, start, end, source, target, *rest in zip(bursts.port.tolist(), *columns, strict=True):
        due_ns = end + moved_ns + HOLD_NS
        said = dict(zip(names[4:], rest, strict=True))
        times = {"time_received_ns": due_ns, "time_flow_start_ns": start + moved_ns, "time_flow_end_ns": end + moved_ns}
        body = message(
            **said, **times, src_addr=address[source], dst_addr=address[target], in_if=port, out_if=None,
            sampling_rate=1, sampler_address=bytes([127, 0, 0, 1]), observation_domain_id=BY_TOPIC, ip_tos=None,
        )  # fmt: skip
        yield due_ns, prefixed(body)
