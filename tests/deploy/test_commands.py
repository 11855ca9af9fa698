"""Every command that a deployment file gives is one of the command line's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from flowprism.cli import app
from tests.deploy.shipped import PROFILES, dockerfile, ours, pods, unit
from tests.house.checkout import ROOT

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^(?:docker compose exec flowprism )?flowprism (.*?)(?: +#.*)?$", re.MULTILINE)


def given() -> Iterator[list[str]]:
    """Arguments behind `flowprism`, wherever one of our files gives them."""
    yield from (ours(profile)["command"] for profile in PROFILES)
    yield from (container["args"] for pod in pods().values() for container in pod["spec"]["containers"])
    yield from (json.loads(said) for instruction, said in dockerfile() if instruction == "CMD")
    yield from (line.split()[1:] for name in ("ExecStartPre", "ExecStart") for line in unit()[name])
    for page in ("deployment.md", "alerts.md"):
        blocks = [text for language, text in _BLOCK.findall((ROOT / "docs" / page).read_text()) if not language]
        yield from (command.split() for block in blocks for command in _COMMAND.findall(block))


@pytest.mark.parametrize("arguments", list(given()), ids=" ".join)
def test_the_command_line_knows_it(arguments: list[str]) -> None:
    """By name, options and number of arguments; nothing is run."""
    group: Any = typer.main.get_command(app)
    name, *rest = arguments
    command = group.get_command(None, name)
    while commands := getattr(command, "commands", {}):
        command = commands[rest.pop(0)]
    command.make_context(command.name, rest)
