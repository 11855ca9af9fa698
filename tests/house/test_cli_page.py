"""docs/cli.md describes the command line that there is."""

import re
from typing import Any

import typer.main

from flowprism.cli import app
from tests.house.checkout import ROOT

EVERYWHERE = {"--help"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def commands() -> dict[str, Any]:
    """Command name -> parsed command; the empty name is `flowprism` itself."""
    top: Any = typer.main.get_command(app)
    return {"": top, **{name: top.get_command(None, name) for name in top.list_commands(None)}}


def options(command: Any) -> set[str]:  # noqa: ANN401 - typer's command classes are not public
    """Long options of one command, those of shell completion left out."""
    names = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return {name for name in names if name.startswith("--") and not name.endswith("-completion")} - EVERYWHERE


def group_options(command: Any) -> set[str]:  # noqa: ANN401 - as above
    """Long options of a command and of those below it."""
    return options(command).union(*map(group_options, getattr(command, "commands", {}).values()))


def sections() -> dict[str, str]:
    """Command name -> the text under its heading in docs/cli.md; what stands before them under the empty name."""
    parts = re.split(r"^#+ .*?`?flowprism ([a-z-]+)`?.*$", (ROOT / "docs" / "cli.md").read_text(), flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def test_every_command_has_a_section() -> None:
    """The page has a heading `flowprism NAME` for each command, and for nothing that is none."""
    assert set(sections()) == set(commands())


def test_every_option_is_described() -> None:
    """A command's section names its options, no more and no less."""
    written = {name: set(OPTION.findall(text)) - EVERYWHERE for name, text in sections().items()}
    found = commands()
    assert written == {"": options(found.pop("")), **{name: group_options(one) for name, one in found.items()}}
