"""A lake that holds the bundled capture's two parts, healthy and with a slow link, in any order and at any time."""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from capture.export_decoder import ExportDecoder
from datamodel.cluster.inventory import Inventory
from datamodel.telemetry.flows import Flows
from flowprism.demo.demo_feed import END_S, FAULT_FROM_S, DemoBursts, build_datagrams, load_bundled
from flowprism.inputs.inventory_file import load_inventory
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders


@cache
def fabric() -> Inventory:
    """The inventory of the bundled capture."""
    with as_file(files("flowprism.demo") / "inventory.yaml") as path:
        return load_inventory(path)


@cache
def parts() -> dict[str, tuple[DemoBursts, float]]:
    """`h`: healthy iterations, `s`: those with a slow link; and how many seconds each part lasts."""
    whole = load_bundled(fabric())
    return {
        "h": (whole.between(0, FAULT_FROM_S), FAULT_FROM_S),
        "s": (whole.between(FAULT_FROM_S, END_S + 1), END_S - FAULT_FROM_S),
    }


class Feed:
    """What a collector writes, without sockets between."""

    def __init__(self, lake: Path, begin_ns: int) -> None:
        """Begin a lake whose first record is of `begin_ns`, UTC."""
        make_folders(lake)
        self.at_ns = begin_ns
        self._decoder, self._numbers, self._datagrams = ExportDecoder(), Counter[int](), 0
        self._store = LakeWriter(lake, Writer("20260101T000000000000Z", 0), 1)

    def write(self, order: str) -> None:
        """Decode and commit some parts, one behind the other, e.g. `hhs`."""
        for name in order:
            bursts, seconds = parts()[name]
            sent = build_datagrams(bursts, self.at_ns, self._numbers)
            self._decoder.feed(sent)
            self._datagrams += len(sent)
            self.at_ns += round(seconds * 1e9)
        said = self._decoder.take()
        self.commit(Flows(said.flows, tuple(said.addresses)))

    def commit(self, flows: Flows) -> None:
        """Commit records as they are."""
        self._store.commit(CommitBatch(self._datagrams, (flows.frame,), flows.addresses, b""))
