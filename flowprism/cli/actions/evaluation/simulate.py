"""Simulating from the command line: make the named scenario, write its case, say what was written."""

from __future__ import annotations

from pathlib import Path

import typer

from flowprism.cli.progress_bars import progress_bars
from flowprism.rendering.units import plural
from simulate.case import write_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import CATALOGUE, scenario
from simulate.scenarios.feed_options import add_feeds
from simulate.scenarios.source_ports import with_source_ports


def print_catalogue() -> None:
    """Print each scenario's name and what it shows."""
    width = max(map(len, CATALOGUE))
    typer.echo("\n".join(f"{name:<{width}}  {about}" for name, (about, _) in CATALOGUE.items()))


def simulate_scenario(
    name: str, out: Path, options: ScenarioOptions, feeds: tuple[str, ...], source_ports: Path | None
) -> None:
    """Write the case of a named scenario into `out`, and what it holds to stderr.

    Raises:
        InputError: there is no such scenario or feed, it cannot be had in that size, or a file cannot be read or
            written.
    """
    made = add_feeds(scenario(name, options), feeds)
    if source_ports is not None:
        made = with_source_ports(made, source_ports)
    with progress_bars() as progress:
        size = write_case(made, out, options.seed, progress)
    text = f"{out}: {size.records} flow records, {size.bytes / 1e9:.1f} GB, {plural(len(made.jobs), 'job')}"
    if size.exact_ratio < 1:
        text += f"; {1 - size.exact_ratio:.1%} of the rate changes shared links approximately"
    typer.echo(text, err=True)
