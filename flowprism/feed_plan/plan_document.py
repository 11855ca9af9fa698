"""A choice of plans as a document: `flowprism.feed_plan/v1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from datamodel.document import Document
from flowprism.feed_plan.cost_model import Costs, worst_error
from flowprism.feed_plan.observation_points import ExportingSwitches
from flowprism.feed_plan.plan_search import FeedPlan, PlanChoice
from flowprism.feed_plan.shown_by_rate import ShownByRate

OwnSamples = Mapping[int, Sequence[tuple[str, ShownByRate]]]


class ShownDocument(Document):
    """What a rate shows."""

    smallest_slowdown_ratio: float | None = Field(description="that is detected: 1.05 is 5 %; null: none is")
    timeline_error_ratio: float | None = Field(description="mean error of iteration times; null: unknown")
    named: tuple[str, ...] | None = Field(description="faults of one endpoint that are located; null: not simulated")


class FeedPlanDocument(ShownDocument):
    """One plan, what it costs and what it shows."""

    rates: dict[int, int] = Field(description="N of 1 in N by port speed in Gb/s")
    points: ExportingSwitches = Field(description="which switches export")
    window_s: float = Field(description="how long a scan's window is")
    every_s: float = Field(description="how often there is a scan")
    workers: int = Field(description="collector workers")
    samples_per_s: float
    collect_cores: float
    analyze_cores: float
    memory_bytes: float
    disk_gib: float
    worker_samples_per_s: float = Field(description="at which a worker loses the first datagrams")
    minutes: float = Field(description="from the onset of a slowdown to the finding")


class OwnSamplesDocument(ShownDocument):
    """What one in `thinned` of the recorded samples shows of a job."""

    thinned: int
    job: str


class PlanChoiceDocument(Document):
    """The cheapest plan, its neighbors, and all plans that no other one beats."""

    schema_: Literal["flowprism.feed_plan/v1"] = Field(default="flowprism.feed_plan/v1", alias="schema")
    unreachable: tuple[str, ...] = Field(description="goals that no plan reaches, each with the best there is")
    plan: FeedPlanDocument
    denser: FeedPlanDocument | None
    sparser: FeedPlanDocument | None
    alternatives: tuple[FeedPlanDocument, ...]
    fit_error_ratio: dict[str, float] = Field(description="how far costs fit their measurements, by protocol")
    own_samples: tuple[OwnSamplesDocument, ...] = ()


def choice_document(choice: PlanChoice, costs: Costs, own: OwnSamples) -> PlanChoiceDocument:
    """Convert a choice to its document."""
    return PlanChoiceDocument(
        unreachable=choice.unreachable,
        plan=_plan(choice.chosen),
        denser=_plan(choice.denser) if choice.denser is not None else None,
        sparser=_plan(choice.sparser) if choice.sparser is not None else None,
        alternatives=tuple(_plan(plan) for plan in choice.alternatives),
        fit_error_ratio={
            protocol: worst_error((stages.decode, stages.commit, stages.analyze, stages.stored_bytes))
            for protocol, stages in costs.protocols.items()
        },
        own_samples=tuple(
            OwnSamplesDocument(thinned=factor, job=job, **_shown(shown))
            for factor, jobs in own.items()
            for job, shown in jobs
        ),
    )


def _plan(plan: FeedPlan) -> FeedPlanDocument:
    return FeedPlanDocument(
        **_shown(plan.shown),
        rates=dict(sorted(plan.rates.items())),
        points=plan.points,
        window_s=plan.window_s,
        every_s=plan.every_s,
        workers=plan.workers,
        samples_per_s=plan.samples_per_s,
        collect_cores=plan.cost.collect_cores,
        analyze_cores=plan.cost.analyze_cores,
        memory_bytes=plan.cost.memory_bytes,
        disk_gib=plan.disk_gib,
        worker_samples_per_s=plan.cost.most_records_per_s,
        minutes=plan.minutes,
    )


def _shown(shown: ShownByRate) -> dict[str, Any]:
    return {
        "smallest_slowdown_ratio": shown.smallest_slowdown_ratio,
        "timeline_error_ratio": shown.timeline_error_ratio,
        "named": shown.named,
    }
