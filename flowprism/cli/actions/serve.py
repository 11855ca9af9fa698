"""The service from the command line: all of it, or one part in this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import get_args

from flowprism.cli.arguments.choices import ComponentName
from flowprism.service.logs import configure_logs
from flowprism.service.parts.birth import Birth, new_instance
from flowprism.service.parts.child import listen_for_end, run_part
from flowprism.service.settings import PartKind
from flowprism.service.settings_file import load_settings
from flowprism.service.supervisor import Supervisor, parts_of


def run_service(file: Path | None, wanted: tuple[ComponentName, ...]) -> None:
    """Run the parts that are wanted, those of the settings where none is named.

    Raises:
        InputError: the settings cannot be used.
    """
    settings = load_settings(file, os.environ)
    configure_logs(settings.log, "serve")
    parts = tuple(kind for kind in get_args(PartKind) if kind in set(wanted)) or parts_of(settings)
    Supervisor(settings, parts, _greet).run()


def run_component(file: Path | None, part: ComponentName) -> None:
    """Run one part in this process.

    Raises:
        InputError: the settings cannot be used.
    """
    settings = load_settings(file, os.environ)
    configure_logs(settings.log, part.value)
    birth = Birth(part.value, settings, new_instance())
    listen_for_end(birth)
    run_part(birth)


def _greet(address: str) -> None:
    if address:
        sys.stdout.write(f"API and dashboard: {address}\n")
        sys.stdout.flush()
