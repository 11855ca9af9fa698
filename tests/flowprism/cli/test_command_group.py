"""The list of commands is that of the commands, though none is built for it."""

from __future__ import annotations

from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from flowprism.cli import app
from flowprism.cli.command_group import CommandGroup


def test_the_list_says_what_the_commands_say_of_themselves() -> None:
    """The first sentence of each, in the order given."""
    group: Any = typer.main.get_command(app)
    listed = CliRunner().invoke(app, ["--help"], terminal_width=200).stdout.partition("Commands:\n")[2].splitlines()
    built = [group.get_command(None, name) for name in group.list_commands(None)]
    assert [line.split(maxsplit=1) for line in listed] == [[one.name, one.get_short_help_str(150)] for one in built]


def test_the_list_builds_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their options would take as long as everything else."""
    monkeypatch.setattr(CommandGroup, "get_command", lambda *_: pytest.fail("built"))
    assert CliRunner().invoke(app, ["--help"]).exit_code == 0


def test_a_typing_error_names_the_command_meant() -> None:
    """As typer does."""
    assert "Did you mean 'analyze'?" in CliRunner().invoke(app, ["analize"]).stderr
