"""Progress bars on stderr, only if it is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from flowprism import progress


@contextmanager
def progress_bars(console: Console | None = None) -> Iterator[progress.Progress | None]:
    """A callback that draws one bar a stage on `console` (stderr); None where that is not a terminal.

    The bars are gone when the work is done: what stays on the screen is the report.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=None)
            bars.update(tasks[stage], completed=done, total=total or None)

        yield show
