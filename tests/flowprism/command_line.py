"""The command line in the process of the tests, which has imported what takes a new one longer than the command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from flowprism import cli


class Answer(NamedTuple):
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Answer]


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`runner(...)("analyze", ...)` runs a command to its end."""

    def run(*arguments: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["flowprism", *map(str, arguments)])
        with pytest.raises(SystemExit) as exited:
            cli.main()
        return Answer(int(exited.value.code or 0), *capsys.readouterr())

    return run
