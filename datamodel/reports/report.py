"""The report of one analysis, `flowprism.report/v1`."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field

from datamodel.document import Document
from datamodel.reconstructed.traffic import PostTraining, ServingSummary
from datamodel.reports.findings import Event, Finding
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.training_time import TrainingTime


class Provenance(Document):
    """What made the report, so that it can be made again."""

    version: str
    options: dict[str, str | int | float | bool | None] = {}
    inventory_sha256: str | None = None
    inputs: tuple[str, ...] = ()


class Window(Document):
    """The time the records span."""

    start_ns: int
    end_ns: int


class ExporterClock(Document):
    """The clock of one exporter, as far as it is known; its times are set right where it is off."""

    exporter: str
    offset_s: float | None = Field(default=None, description="how far it is ahead; null unknown")
    drift_ppm: float | None = Field(default=None, description="by which it runs faster; null unknown")
    error_s: float | None = Field(default=None, description="standard error of the offset")
    against: str | None = Field(default=None, description="collector, mirror, or how many other exporters")
    why: str | None = Field(default=None, description="why it is unknown")


class FeedSummary(Document):
    """What was read, and what was lost or refused on the way."""

    records: int
    bytes: int
    exporters: tuple[str, ...] = ()
    lost_datagrams: int = 0
    duplicate_observations: int = Field(
        default=0,
        # Scans are stored whole; those of version 0.1 have the second name.
        validation_alias=AliasChoices("duplicate_observations", "second_sightings"),
        description="records of bytes that another feed, exporter or direction shows better",
    )
    transports: dict[str, int] = Field(
        default={}, description="bytes by transport, scaled by the sampling rate where that is known, most first"
    )
    traffic_classes: dict[str, int] = Field(
        default={},
        description="bytes by what they are for (training, weight_sync, rollout, serving, storage, "
        "management, unknown), new payload alone, scaled by the sampling rate, most first",
    )
    filled_records: int = Field(
        default=0,
        exclude_if=lambda count: not count,
        description="records that packet numbers show to be lost, filled in by what others like them carry, and bursts "
        "that a cache of sampled packets counted no packet in; left out where there are none",
    )
    trimmed_packets: int = Field(
        default=0, description="packets whose payload a congested switch cut off instead of dropping them"
    )
    clocks: tuple[ExporterClock, ...] = Field(
        default=(), description="of exporters that date their records themselves, where several can be compared"
    )
    rejected: dict[str, int] = {}
    warnings: tuple[str, ...] = ()


class Iteration(Document):
    """One training step: from its first rank's start to its last rank's end."""

    index: int
    start_ns: int
    end_ns: int
    duration_error_ns: int | None = Field(
        default=None,
        description="standard error of the time from the end before to this one, where it is known: the 95 % interval "
        "is 1.96 of them either way",
    )


ShownKind = Literal["iterations", "layout", "slow_link", "straggler", "regression", "hang"]


class ShownResult(Document):
    """Whether a feed shows one kind of result, and what setting of its exporters would show it where it does not."""

    what: ShownKind = Field(description="of faults: slow_link for links of all sorts, straggler for uneven work too")
    shown: bool
    why: str
    remedy: str | None = None

    def sentence(self) -> str:
        """In one line for people."""
        named = f"{self.what.replace('_', ' ')}: {'' if self.shown else 'not '}shown, {self.why}"
        return f"{named}; {self.remedy}" if self.remedy else named


class Detectability(Document):
    """What this feed can and cannot show of this job."""

    timeline_error_ratio: float | None
    smallest_slowdown_ratio: float | None
    reasons: tuple[str, ...] = ()
    shows: tuple[ShownResult, ...] = Field(
        default=(),
        exclude_if=lambda shows: not shows,
        description="of samples and of records that timeouts cut, item by item; left out where every message is seen",
    )

    def hides(self, what: ShownKind) -> bool:
        """Whether it says of a kind of result that the feed does not show it."""
        slow = what in {"slow_link", "straggler", "regression"}
        return (slow and self.smallest_slowdown_ratio is None) or any(
            s.what == what and not s.shown for s in self.shows
        )


class JobReport(Document):
    """One training job as the traffic shows it."""

    id: str
    label: str | None = None
    tenant: str | None = None
    endpoints: tuple[str, ...]
    unreported: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda unreported: not unreported,
        description="those of its endpoints that the inventory adds: no switch reports what they send; left out where "
        "there are none",
    )
    hosts: tuple[str, ...] = ()
    world_size: int | None = None
    layout: Layout
    groups: Groups
    iterations: tuple[Iteration, ...] = ()
    period_s: float | None = None
    jitter_ratio: float | None = Field(default=None, description="robust spread of the iteration time / its median")
    uplink_imbalance: float | None = Field(
        default=None,
        description="bytes of its long connections on the most used uplink of a switch / the mean of that switch's "
        "uplinks, at the worst switch; null where no record shows paths",
    )
    detectability: Detectability
    post_training: PostTraining | None = Field(
        default=None, description="engines that take its weights between its steps; null where there are none"
    )
    training_time: TrainingTime | None = Field(
        default=None, description="where the time went from the first iteration in the window to the last"
    )


class Report(Document):
    """All that one analysis concluded."""

    schema_: Literal["flowprism.report/v1"] = Field(default="flowprism.report/v1", alias="schema")
    provenance: Provenance
    window: Window
    feed: FeedSummary
    jobs: tuple[JobReport, ...] = ()
    serving: ServingSummary | None = Field(default=None, description="served models; null where there are none")
    unassigned: tuple[str, ...] = Field(
        default=(), description="why traffic that looks like nothing known is in no job"
    )
    events: tuple[Event, ...] = ()
    findings: tuple[Finding, ...] = ()
