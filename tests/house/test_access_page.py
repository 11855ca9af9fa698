"""docs/access.md says who may come in: its settings can be used, its tables are whole, its headers are sent."""

from __future__ import annotations

import re
from typing import get_args

import yaml

from flowprism.service.access import access_routes, login
from flowprism.service.access.access_settings import AccessSettings, Mode
from flowprism.service.access.accounts.passwords import LONGEST, SHORTEST
from flowprism.service.access.accounts.tokens import SCOPES
from flowprism.service.access.security_headers import HEADERS
from flowprism.service.viewer import ROLES
from tests.house.checkout import ROOT, rows

PAGE = "docs/access.md"
TEXT = (ROOT / PAGE).read_text()


def first_cells(heading: str) -> list[str]:
    """First cells of the tables under a heading, without their quotes."""
    return [row[0].strip("`") for row in rows(PAGE, heading)]


def test_tables_are_whole() -> None:
    """Modes, roles and scopes, each with its row and in its order."""
    assert first_cells("Modes") == list(get_args(Mode))
    assert first_cells("Roles and tenants") == list(ROLES)
    assert first_cells("Tokens") == list(SCOPES)


def test_settings_can_be_used() -> None:
    """Every example is a right section; every setting of the section that the text names is one."""
    blocks = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    read = [AccessSettings.model_validate(yaml.safe_load(block)["access"]) for block in blocks]
    assert [settings.mode for settings in read] == ["login", "proxy"]
    named = set(re.findall(r"`access\.(\w+)`", TEXT))
    assert named <= set(AccessSettings.model_fields)


def test_every_header_has_its_row() -> None:
    """With the value that is sent."""
    table = TEXT.partition("| header | value |\n|---|---|\n")[2].partition("\n\n")[0]
    cells = [re.findall(r"`([^`]*)`", line) for line in table.splitlines()]
    assert dict(cells) == HEADERS


def test_every_route_has_its_row() -> None:
    """Those of log-in, users, tokens and the audit log."""
    written = {tuple(text.split(" ", 1)) for row in rows(PAGE, "Routes") for text in re.findall(r"`([^`]*)`", row[0])}
    there = {
        (method, route.path)
        for part in (login, access_routes)
        for route in part.router.routes
        for method in route.methods
    }
    assert written == there


def test_lengths_of_passwords() -> None:
    """As they are checked."""
    assert f"{SHORTEST} to {LONGEST} characters" in TEXT
