"""Commands that make a configuration, and those that lead from one to another: the lines to type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flowprism.exporter_config.model import Value


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        line: what is typed.
        context: lines that lead to the mode it is typed in, outermost first.
        key: the setting it sets: a later command of the same key replaces it. Its own line where it adds to a list.
        undo: what takes it back; empty where nothing does.
    """

    line: str
    context: tuple[str, ...] = ()
    key: str = ""
    undo: str = ""

    @property
    def setting(self) -> tuple[tuple[str, ...], str]:
        """What it sets."""
        return self.context, self.key or self.line


def keyed(setting: str, value: object) -> Command:
    """Set a setting that `no` and its name take back."""
    return Command(f"{setting} {value}", key=setting, undo=f"no {setting}")


def keyed_settings(*settings: tuple[str, Value[int] | None]) -> list[Command]:
    """Set those of the settings that are configured."""
    return [keyed(name, value.value) for name, value in settings if value is not None and value.configured]


def script(commands: Iterable[Command], indent: str = "   ") -> str:
    """The commands as a configuration, each mode entered once."""
    return "".join(f"{line}\n" for line in lines(commands, indent))


def lines(commands: Iterable[Command], indent: str = "   ") -> list[str]:
    """The same as lines: a mode's commands are gathered where it is first entered."""
    root: dict[str, dict[str, object]] = {}
    for command in commands:
        node = root
        for mode in command.context:
            node = node.setdefault(mode, {})  # type: ignore[assignment]
        node.setdefault(command.line, {})
    return list(_walk(root, indent, 0))


def _walk(node: dict[str, dict[str, object]], indent: str, depth: int) -> Iterable[str]:
    for line, children in node.items():
        yield indent * depth + line
        yield from _walk(children, indent, depth + 1)  # type: ignore[arg-type]


def changes(old: Sequence[Command], new: Sequence[Command]) -> list[Command]:
    """What has to be typed where `old` is configured so that `new` is: first what is taken back, then what is set."""
    before, after = set(old), {command.setting for command in new}
    undone = [
        Command(command.undo, command.context) for command in old if command.undo and command.setting not in after
    ]
    return undone + [command for command in new if command not in before]
