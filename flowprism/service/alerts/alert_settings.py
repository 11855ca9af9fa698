"""Settings of alerts: receivers, routes, and limits on their frequency."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from datamodel.reports.findings import FindingKind, Severity

Grouping = Literal["incident", "job", "all"]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


def _looked_up(value: object) -> object:
    """A secret that stands elsewhere: `{env: NAME}` in the environment, `{file: PATH}` in a file."""
    if not isinstance(value, dict):
        return value
    if list(value) == ["env"]:
        found = os.environ.get(str(value["env"]))
        if not found:
            raise ValueError(f"the environment has no {value['env']}")
        return found
    if list(value) == ["file"]:
        try:
            found = Path(str(value["file"])).read_text().strip()
        except OSError as error:
            raise ValueError(f"{value['file']}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{value['file']}: no text") from None
        if not found:
            raise ValueError(f"{value['file']}: is empty")
        return found
    raise ValueError("expected a text, {env: NAME} or {file: PATH}")


def _one_line(value: SecretStr) -> SecretStr:
    if not value.get_secret_value() or not value.get_secret_value().isprintable():
        raise ValueError("expected one line of text")
    return value


def _http(value: SecretStr) -> SecretStr:
    _check_http(value.get_secret_value())
    return value


def _plain_http(value: str) -> str:
    _check_http(value)
    return value.rstrip("/")


def _check_http(text: str) -> None:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("expected http://HOST... or https://HOST...")
    if urlsplit(text).username is not None:
        raise ValueError("names and passwords belong into `authorization`, not into the address")


Secret = Annotated[SecretStr, BeforeValidator(_looked_up), AfterValidator(_one_line)]
SecretUrl = Annotated[Secret, AfterValidator(_http)]
Url = Annotated[str, AfterValidator(_plain_http)]


class _Closed(BaseModel):
    """A setting that is not known is an error, and an error does not repeat what was set."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class AlertmanagerReceiver(_Closed):
    """A Prometheus Alertmanager, which groups, repeats and routes by itself."""

    name: Name = Field(description="by which routes name it")
    kind: Literal["alertmanager"]
    url: Url = Field(description="where it answers, without `/api/v2/alerts`")
    authorization: Secret | None = Field(default=None, description="value of the header `Authorization`")


class WebhookReceiver(_Closed):
    """A program of one's own, which gets JSON by POST."""

    name: Name = Field(description="by which routes name it")
    kind: Literal["webhook"]
    url: SecretUrl = Field(description="where to POST to")
    secret: Secret | None = Field(default=None, description="key of the signature; without one nothing is signed")
    authorization: Secret | None = Field(default=None, description="value of the header `Authorization`")
    group: Grouping = Field(default="job", description="what one message is about")


class AppriseReceiver(_Closed):
    """Slack, mail, PagerDuty and whatever else Apprise delivers to."""

    name: Name = Field(description="by which routes name it")
    kind: Literal["apprise"]
    url: Secret = Field(description="an Apprise URL; `{key}` in it becomes the incident's key")
    group: Grouping = Field(default="job", description="what one message is about")

    @model_validator(mode="after")
    def _key_of_one_incident(self) -> AppriseReceiver:
        if "{key}" in self.url.get_secret_value() and self.group != "incident":
            raise ValueError("{key} in the url is an incident's: it needs `group: incident`")
        return self


Receiver = Annotated[AlertmanagerReceiver | WebhookReceiver | AppriseReceiver, Field(discriminator="kind")]


class Route(_Closed):
    """Which incidents a receiver gets; every matching route takes an incident."""

    receivers: tuple[str, ...] = Field(min_length=1, description="names of receivers")
    at_least: Severity = Field(default="warning", description="the least of an incident's worst severity")
    tenants: tuple[str, ...] = Field(default=(), description="of the job; empty: all, and incidents of no job")
    kinds: tuple[FindingKind, ...] = Field(default=(), description="of the incident; empty: all")
    jobs: tuple[str, ...] = Field(default=(), description="labels or ids; empty: all, and incidents of no job")


class AlertSettings(_Closed):
    """The section `alerts`. Without receivers no alert is sent."""

    receivers: tuple[Receiver, ...] = Field(default=(), description="receivers of alerts")
    routes: tuple[Route, ...] = Field(default=(), description="by receiver; none: all warnings to all receivers")
    weekly_report: tuple[str, ...] = Field(
        default=(), description="Apprise receivers that get the week's repeat offenders on Mondays"
    )
    dashboard_url: Url | None = Field(default=None, description="what links in alerts begin with; none: no links")
    group_wait_s: float = Field(default=10.0, ge=0, le=3600, description="how long the first alert waits for others")
    repeat_after_s: float = Field(default=14_400.0, ge=60, description="reminders while an incident stays open")
    resend_every_s: float = Field(default=60.0, ge=1, le=3600, description="how often an Alertmanager is sent what is")
    most_per_minute: int = Field(default=30, ge=1, description="messages to one receiver")
    timeout_s: float = Field(default=10.0, gt=0, le=120, description="for one message, from begin to end")
    give_up_after_s: float = Field(default=86_400.0, ge=60, description="how long delivery is tried")

    @model_validator(mode="after")
    def _consistent(self) -> AlertSettings:
        for problem in self._contradictions():
            raise ValueError(problem)
        return self

    def _contradictions(self) -> Iterator[str]:
        names = [receiver.name for receiver in self.receivers]
        routed = {name for route in self.routes for name in route.receivers}
        yield from (f"two receivers are named {name}" for name in sorted({n for n in names if names.count(n) > 1}))
        yield from (f"a route leads to {name}, which is no receiver" for name in sorted(routed - set(names)))
        reported = {receiver.name for receiver in self.receivers if isinstance(receiver, AppriseReceiver)}
        yield from (
            f"weekly_report: {name} is no receiver of kind apprise"
            for name in self.weekly_report
            if name not in reported
        )
        if self.routes:
            routed |= set(self.weekly_report)
            yield from (f"no route leads to the receiver {name}" for name in sorted(set(names) - routed))
