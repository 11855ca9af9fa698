"""Alerts: content, messages, and delivery state for each receiver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from datamodel.document import Document
from datamodel.reports.eviction import EvictionAdvice
from datamodel.reports.host_cause import HostAnswer
from datamodel.service.incidents import Incident
from datamodel.telemetry.profiles import ProfileAnswer

AlertChange = Literal["opened", "escalated", "relocated", "resolved", "reopened", "reminder"]
AlertState = Literal["waiting", "sent", "given_up", "withheld"]

# Times at which an alert that is not waiting any more would be due: never, and why.
GIVEN_UP_NS = 2**63 - 1
WITHHELD_NS = 2**63 - 2


class Alert(Document):
    """One change of an incident, and how the incident is since."""

    id: str = Field(description="the same in every repetition: the key and the change")
    key: str = Field(description="the same in all alerts of one incident")
    change: AlertChange
    status: Literal["firing", "resolved"]
    time_ns: int = Field(description="of the change: the end of the window that showed it")
    label: str | None = Field(default=None, description="of the job, from the inventory")
    tenant: str | None = None
    link: str | None = Field(default=None, description="the incident's page")
    incident: Incident
    eviction: EvictionAdvice | None = Field(
        default=None, description="whether evicting the host at fault is worth it; null where it is over or no host's"
    )
    hosts: HostAnswer | None = Field(
        default=None, description="what metrics of its hosts say, where they were asked before it was sent"
    )
    profiles: ProfileAnswer | None = Field(
        default=None, description="what profiles of its ranks show, where they were read before it was sent"
    )


class AlertMessage(Document):
    """The alerts of one message to a receiver, `flowprism.alerts/v1`."""

    schema_: Literal["flowprism.alerts/v1"] = Field(default="flowprism.alerts/v1", alias="schema")
    id: str = Field(description="the same in every repetition; the header `Idempotency-Key` says it too")
    receiver: str = Field(description="its name in the settings")
    alerts: tuple[Alert, ...] = Field(description="in order of time")


@dataclass(frozen=True, slots=True)
class OutgoingAlert:
    """An alert on its way to one receiver.

    Attributes:
        receiver: its name.
        created_ns: time of creation, UTC.
        due_ns: not before this it is tried, or tried again; GIVEN_UP_NS or WITHHELD_NS for never.
        alert: content.
        attempts: how often it was tried.
        sent_ns: when the receiver accepted it; None while it has not.
        problem: error of the last attempt, or why it is suppressed.
        message: id of the message that it was tried with, and always will be; None before.
    """

    receiver: str
    created_ns: int
    due_ns: int
    alert: Alert
    attempts: int = 0
    sent_ns: int | None = None
    problem: str = ""
    message: str | None = None

    @property
    def id(self) -> str:
        """Return the unique key of alert and receiver."""
        return f"{self.alert.id}@{self.receiver}"

    @property
    def state(self) -> AlertState:
        """Where it stands."""
        if self.sent_ns is not None:
            return "sent"
        return "given_up" if self.due_ns == GIVEN_UP_NS else "withheld" if self.due_ns == WITHHELD_NS else "waiting"


@dataclass(frozen=True, slots=True)
class AlertTally:
    """How one receiver's alerts stand.

    Attributes:
        receiver: its name.
        waiting, sent, given_up, withheld: how many.
        oldest_ns: when the oldest that waits was created; None where none does.
    """

    receiver: str
    waiting: int
    sent: int
    given_up: int
    withheld: int
    oldest_ns: int | None
