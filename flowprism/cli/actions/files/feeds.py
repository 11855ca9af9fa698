"""A survey of feeds from the command line: read the files, print what they hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from flowprism.cli.arguments.sampling_rates import parse_sampling_rates
from flowprism.cli.progress_bars import progress_bars
from flowprism.inputs.feed_survey import Survey, survey
from flowprism.rendering.formats.survey_text import print_survey

_PLAIN_COLUMNS = 120


def survey_feeds(paths: Sequence[Path], rates: Sequence[str], *, as_json: bool) -> None:
    """Print to stdout what the files hold.

    Raises:
        InputError: a file cannot be used, or a rate is none.
    """
    wanted = parse_sampling_rates(rates)
    with progress_bars() as progress:
        found = survey(paths, wanted, None if progress is None else lambda d, t: progress("reading", d, t))
    if as_json:
        sys.stdout.write(json.dumps(_document(found), indent=2) + "\n")
        return
    columns = None if sys.stdout.isatty() else _PLAIN_COLUMNS
    print_survey(found, Console(file=sys.stdout, width=columns, highlight=False))


def _document(found: Survey) -> dict[str, object]:
    return {
        "inputs": found.inputs,
        "datagrams": found.datagrams,
        "exporters": [{**asdict(e), "rejected": dict(e.rejected), "loss_ratio": e.loss_ratio} for e in found.exporters],
        "doubtful_rates": [asdict(doubt) for doubt in found.doubtful_rates],
        "rejected": dict(found.notes.rejected),
        "warnings": found.notes.warnings,
    }
