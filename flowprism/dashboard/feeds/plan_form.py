"""The form of the page Feeds -> Plan: fields as they are typed, and the goal and exporter target that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import HTTPException
from pydantic import BeforeValidator, Field, ValidationError

from flowprism.exporter_config.model import Vendor
from flowprism.feed_plan.goal import FeedGoal
from flowprism.rendering.units import significant
from flowprism.service.feed_plans.feed_plan_query import ExporterTarget
from flowprism.service.feed_plans.feed_plan_routes import GoalParameters
from flowprism.service.http.query_parameters import Parameters, Text

_SFLOW_PORT = 6343
_Number = Annotated[float | None, BeforeValidator(lambda value: None if value == "" else value)]
_Port = Annotated[int, Field(ge=1, le=65535), BeforeValidator(lambda value: value or _SFLOW_PORT)]


@dataclass(frozen=True, slots=True)
class GoalField:
    """One field of the form.

    Attributes:
        name: of the field.
        of: the goal's value that it is.
        label, unit: what it is called, and its unit.
        hint: what it means, in a sentence.
        scale: the field's value is the goal's times this.
        offset: subtracted from the goal's value before.
        optional: empty stands for no limit.
    """

    name: str
    of: str
    label: str
    unit: str
    hint: str
    scale: float = 1.0
    offset: float = 0.0
    optional: bool = False

    def shown(self, goal: FeedGoal) -> str:
        """The goal's value as the field shows it."""
        value = getattr(goal, self.of)
        if value is None:
            return ""
        return f"{float(significant((value - self.offset) * self.scale, 4)):g}"


GOALS = (
    GoalField("slowdown_percent", "slowdown_ratio", "Smallest slowdown to see", "%",
              "An iteration that takes this much longer must be found.", scale=100.0, offset=1.0),
    GoalField("minutes", "minutes", "Found within", "minutes", "From the moment it gets slower to the finding."),
    GoalField("cores", "cores", "At most", "processor cores", "For collecting and scanning. Empty: no limit.",
              optional=True),
    GoalField("disk_gib", "disk_gib", "At most", "GiB of disk", "For flow records. Empty: no limit.", optional=True),
    GoalField("keep_h", "keep_h", "Keep records for", "hours", "Older flow records are deleted."),
)  # fmt: skip
JOB = (
    GoalField("iteration_s", "iteration_s", "Iteration time", "s", "How long one training step takes."),
    GoalField("members", "members", "NICs that share gradients", "", "The data-parallel size: NICs of one ring."),
    GoalField("busy_percent", "busy_ratio", "NICs send at full rate", "% of the time",
              "Averaged over an iteration.", scale=100.0),
)  # fmt: skip


class PlanWanted(Parameters):
    """The fields as they were sent; the empty ones have their default."""

    slowdown_percent: _Number = None
    minutes: _Number = None
    cores: _Number = None
    disk_gib: _Number = None
    keep_h: _Number = None
    iteration_s: _Number = None
    members: _Number = None
    busy_percent: _Number = None
    collector: Text = ""
    port: _Port = _SFLOW_PORT
    leaves: Text = ""
    others: Text = ""

    @property
    def goal(self) -> GoalParameters:
        """The goal.

        Raises:
            HTTPException: 400, a value is out of bounds.
        """
        given = {
            one.of: None if (value := getattr(self, one.name)) is None else round(value / one.scale + one.offset, 9)
            for one in (*GOALS, *JOB)
        }
        try:
            return GoalParameters.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            labels = {one.of: f"{one.label}, {one.unit}".strip(", ") for one in (*GOALS, *JOB)}
            raise HTTPException(400, f"{labels[str(first['loc'][0])]}: {first['msg']}") from None

    @property
    def target(self) -> ExporterTarget | None:
        """Collector and languages; None before they are given.

        Raises:
            HTTPException: 400, a language is unknown.
        """
        if not self.collector or not self.leaves:
            return None
        try:
            leaves, others = Vendor(self.leaves), Vendor(self.others or self.leaves)
        except ValueError as error:
            raise HTTPException(400, str(error)) from None
        return ExporterTarget(self.collector.strip(), self.port, leaves, others)

    def query(self) -> str:
        """The fields that are set, as a query."""
        target = {name: getattr(self, name) for name in ("collector", "leaves", "others")}
        port = {"port": self.port} if self.port != _SFLOW_PORT else {}
        return urlencode({**self.goal_fields(), **{name: text for name, text in target.items() if text}, **port})

    def goal_fields(self) -> dict[str, str]:
        """The fields of the goal that are set, as a form carries them along."""
        return {one.name: f"{value:g}" for one in (*GOALS, *JOB) if (value := getattr(self, one.name)) is not None}
