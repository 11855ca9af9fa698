"""The process that reads Kafka topics: each poll's records and the offsets behind them become durable in one commit.

Only then are the offsets committed. A successor, and the next session, begin where the manifest stands, so
that every message's records are committed once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from capture.kafka.kafka_consumer import KafkaBatch, KafkaConsumer
from capture.kafka.offsets import Offsets
from datamodel.frame import empty
from datamodel.telemetry.flows import FLOWS, Flows
from flowprism.collector.source_writer import SourceWriter, until_terminated
from storage.lake.lake_writer import read_state

_MOST_MESSAGES = 1 << 17
_LONGEST_POLL_S = 5.0  # the client does not react to a signal while it waits
_OFFSETS = "kafka_offsets"


class Consuming:
    """The topics of one broker, read."""

    def __init__(self, plan: dict[str, Any], stopped: Callable[[], bool]) -> None:
        """Begin behind what is durable.

        Args:
            plan: see `flowprism.collector.processes.source_process`.
            stopped: whether the process is to end.

        Raises:
            OSError: the folder cannot be used.
            InputError: the client refuses the settings, or what is durable cannot be read.
        """
        self._stopped = stopped
        self._poll_s = min(plan["commit_every_s"], _LONGEST_POLL_S)
        self._writer = SourceWriter(plan, stopped)
        self._rejected, self._warnings = Counter[str](), dict[str, None]()
        if self._writer.state is None:
            self._offsets = _remembered(plan["out"], plan["offset_states"])
            if self._offsets.following:  # the states of earlier sessions go when this one has its own
                self._commit(Flows(empty(FLOWS), ()))
        else:
            self._offsets = _offsets(self._writer.state)
        self._feed = KafkaConsumer(plan["settings"], plan["topics"], lambda: self._offsets)

    def run(self) -> None:
        """Read until stopped.

        Raises:
            OSError: records cannot be stored; nothing is lost, they are read again.
            InputError: the client cannot go on.
        """
        try:
            while not self._stopped():
                batch = self._feed.poll(self._poll_s, _MOST_MESSAGES)
                if batch is not None:
                    self._keep(batch)
                self._writer.report(self._account, lambda: list(self._warnings))
            self._writer.report(self._account, lambda: list(self._warnings), force=True)
        finally:
            self._feed.close()

    def _keep(self, batch: KafkaBatch) -> None:
        """Make a batch durable, then commit its offsets."""
        self._rejected.update(batch.notes.rejected)
        self._warnings.update(dict.fromkeys(batch.notes.warnings))
        if not batch.offsets.following:
            return
        self._offsets = self._offsets.joined(batch.offsets)
        self._commit(batch.flows)
        self._feed.commit(batch.offsets)

    def _commit(self, flows: Flows) -> None:
        state = json.dumps({_OFFSETS: self._offsets.to_json()}).encode()
        self._writer.commit(flows, self._writer.totals["flows"] + len(flows), state, self._rejected)

    def _account(self) -> dict[str, object]:
        records = self._writer.totals["flows"]
        return {
            "received": records,  # a batch is durable before the next one is asked for
            "durable": records,
            "rejected": self._writer.rejected(self._rejected),
            "details": {"offsets": self._offsets.to_json()},
        }


def _offsets(state: bytes) -> Offsets:
    """What the state of a source remembers; nothing where it is a mirror's."""
    return Offsets.from_json(json.loads(state).get(_OFFSETS, {}))


def _remembered(lake: str, states: Iterable[str]) -> Offsets:
    """What is durable of earlier sessions, whichever number their readers had."""
    found = Offsets()
    for name in states:
        found = found.joined(_offsets(read_state(lake, name)))
    return found


def main() -> None:
    """Read topics until SIGTERM."""
    until_terminated(lambda plan, stopping: Consuming(plan, stopping).run())


if __name__ == "__main__":
    main()
