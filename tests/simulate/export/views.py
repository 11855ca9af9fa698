"""A small job on a small fabric, what passed it, and a feed of that."""

from dataclasses import dataclass

from datamodel.frame import Frame
from datamodel.telemetry.flows import Flows
from datamodel.telemetry.ingest_result import IngestResult
from simulate.bursts import Sequences, bursts
from simulate.export.exported_feed import Export, export_feed, received
from simulate.export.feed_spec import FeedSpec
from simulate.export.traffic import FabricTraffic, traffic
from simulate.faults import Fault
from simulate.network.fabric import Fabric
from simulate.run import Run
from simulate.training.job import SimulatedJob
from tests.simulate.cases import FABRIC, job, ran

EPOCH_NS = 1_780_000_000_000_000_000


@dataclass(frozen=True)
class View:
    """What passed, what was exported of it, and what reading that gives."""

    traffic: FabricTraffic
    export: Export
    reading: IngestResult

    @property
    def rows(self) -> Frame:
        """Flow records."""
        return self.reading.flows.frame

    @property
    def flows(self) -> Flows:
        """Flow records with their addresses."""
        return self.reading.flows

    def exporters(self) -> list[dict[str, object]]:
        """The truth of each exporter."""
        return self.export.truth["exporters"]  # type: ignore[return-value]  # as it is made


def passed(*faults: Fault, made: SimulatedJob | None = None, fabric: Fabric = FABRIC, seed: int = 1) -> FabricTraffic:
    """Everything that a job sent."""
    run: Run = ran(made or job(iterations=4), *faults, fabric=fabric)
    return traffic(fabric, bursts(run, EPOCH_NS, Sequences(), seed), [run], EPOCH_NS, seed, answers=True)


def view(feed: FeedSpec, seen: FabricTraffic, seed: int = 1) -> View:
    """A feed of what passed."""
    made = export_feed(feed, seen, seed)
    return View(seen, made, received(made.datagrams))
