"""docs/alerts.md says what alerts are: its settings can be used, its code runs, its tables are whole."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from jsonschema import Draft202012Validator

from datamodel.reports.findings import FindingKind
from datamodel.service.alerts import AlertChange, AlertMessage
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.alerts.alert_text import body, title
from flowprism.service.alerts.alerter import Alerter
from flowprism.service.alerts.alertmanager import posted
from flowprism.service.alerts.senders import check_receivers
from flowprism.service.alerts.webhook import signature
from storage.database.connection import Database
from tests.house.checkout import ROOT, rows

PAGE = "docs/alerts.md"


def block(language: str) -> str:
    """The page's code block of a language."""
    return (ROOT / PAGE).read_text().partition(f"```{language}\n")[2].partition("```")[0]


def names(table: list[list[str]]) -> list[str]:
    """First cells, without their quotes."""
    return [row[0].strip("`") for row in table]


def tables(heading: str) -> list[list[list[str]]]:
    """The tables under a heading, header and rule left out."""
    section = (ROOT / PAGE).read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found: list[list[list[str]]] = []
    for line, before in zip(section.splitlines(), ["", *section.splitlines()], strict=False):
        if line.startswith("|"):
            if not before.startswith("|"):
                found.append([])
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return [table[2:] for table in found]


def example() -> dict[str, Any]:
    """The message on the page."""
    said: dict[str, Any] = json.loads(block("json"))
    return said


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # of Apprise, which loads its services here
def test_the_settings_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With secrets that are there: every receiver is one, every route leads somewhere."""
    key = tmp_path / "tickets"
    key.write_text("k3y")
    monkeypatch.setenv("SLACK_URL", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#gpu-fabric")
    monkeypatch.setenv("PAGER_URL", "pagerduty://IntegrationKey@ApiKey?action=map&dedup={key}")
    said = yaml.safe_load(block("yaml").replace("/run/secrets/tickets", str(key)))
    settings = AlertSettings.model_validate(said["alerts"])
    assert [receiver.name for receiver in settings.receivers] == ["oncall", "tickets", "chat", "pager"]
    check_receivers(settings)


def test_every_change_has_a_row() -> None:
    """The table of changes is that of the code."""
    assert names(rows(PAGE, "What is sent")) == list(get_args(AlertChange))


def test_the_message_is_one() -> None:
    """By its schema and by its class; nothing is left out of it."""
    Draft202012Validator(json.loads((ROOT / "docs/schemas/alerts-v1.json").read_text())).validate(example())
    message = AlertMessage.model_validate(example())
    assert json.loads(message.model_dump_json(by_alias=True)) == example()


def test_labels_and_annotations_are_those_that_are_set() -> None:
    """Both tables name all, and kinds are all there are."""
    labels, annotations = tables("Alertmanager")
    said: Any = posted(AlertMessage.model_validate(example()).alerts[0], time.time_ns(), 60)
    assert names(labels) == list(said["labels"])
    assert names(annotations) == list(said["annotations"])
    assert dict(labels)["`kind`"] == ", ".join(f"`{kind}`" for kind in get_args(FindingKind))


def test_the_check_of_a_signature_works() -> None:
    """The code on the page takes what we sign, and nothing else."""
    scope: dict[str, Callable[[bytes, str, bytes], bool]] = {}
    exec(block("python"), scope)  # noqa: S102 - our own page
    genuine, now_ns = scope["genuine"], time.time_ns()
    header = signature("k3y", b"body", now_ns)
    assert genuine(b"k3y", header, b"body")
    assert not genuine(b"k3y", header, b"bodY")
    assert not genuine(b"key", header, b"body")
    assert not genuine(b"k3y", signature("k3y", b"body", now_ns - 400 * 10**9), b"body")
    assert not genuine(b"k3y", header.replace("t=1", "t=2"), b"body")


def test_the_words_are_those_of_the_message() -> None:
    """What people read of the page's own message."""
    alerts = AlertMessage.model_validate(example()).alerts
    section = (ROOT / PAGE).read_text().split("## Slack", 1)[1]
    written = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    assert written == [title(alerts), *body(alerts).splitlines()]


def test_every_figure_has_its_row(tmp_path: Path) -> None:
    """The table of figures is what the part says."""
    database = Database(f"sqlite:///{tmp_path / 'results.sqlite'}")
    figures = Alerter(AlertSettings(), database).part(time.time_ns()).figures
    database.close()
    assert names(rows(PAGE, "How it goes")) == list(figures)
