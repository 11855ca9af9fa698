"""Commands that are built when they are asked for: the options of all take as long to build as Python to start."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

Definition = Callable[..., None] | typer.Typer


class CommandGroup(TyperGroup):
    """Commands by name; a list of them needs no options of any, and `commands` has none.

    Attributes:
        defined: functions, and groups of further commands, in the order in which they are listed.
    """

    defined: ClassVar[Mapping[str, Definition]]

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - typer's own arguments
        super().__init__(**given)
        self.commands = {name: TyperCommand(name, help=_help(defined)) for name, defined in self.defined.items()}

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - typer's commands derive from private classes
        """Build a command with its options; None if there is none of this name."""
        defined = self.defined.get(cmd_name)
        if defined is None:
            return None
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        if isinstance(defined, typer.Typer):
            alone.add_typer(defined, name=cmd_name)
            return get_command(alone).commands[cmd_name]  # type: ignore[attr-defined]  # it is a group
        alone.command(cmd_name)(defined)
        return get_command(alone)

    def format_commands(self, *page: Any) -> None:  # noqa: ANN401 - as above
        """Write names and what each is for."""
        TyperGroup(commands=dict(self.commands)).format_commands(*page)


def _help(defined: Definition) -> str | None:
    return str(defined.info.help) if isinstance(defined, typer.Typer) else inspect.getdoc(defined)
