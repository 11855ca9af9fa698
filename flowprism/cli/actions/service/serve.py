"""The service from the command line: all of it, or one component in this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import get_args

from flowprism.cli.arguments.choices import ComponentName
from flowprism.service.components.component_context import ComponentContext, new_instance
from flowprism.service.components.component_main import listen_for_end, run_in_process
from flowprism.service.config.log_setup import configure_logs
from flowprism.service.config.settings import ComponentKind
from flowprism.service.config.settings_file import load_settings
from flowprism.service.supervisor import Supervisor, components_of


def run_service(file: Path | None, wanted: tuple[ComponentName, ...]) -> None:
    """Run the components that are wanted, those of the settings where none is named.

    Raises:
        InputError: the settings cannot be used.
    """
    settings = load_settings(file, os.environ)
    configure_logs(settings.log, "serve")
    components = tuple(kind for kind in get_args(ComponentKind) if kind in set(wanted)) or components_of(settings)
    Supervisor(settings, components, _greet).run()


def run_component(file: Path | None, component: ComponentName) -> None:
    """Run one component in this process.

    Raises:
        InputError: the settings cannot be used.
    """
    settings = load_settings(file, os.environ)
    configure_logs(settings.log, component.value)
    context = ComponentContext(component.value, settings, new_instance())
    listen_for_end(context)
    run_in_process(context)


def _greet(address: str) -> None:
    if address:
        sys.stdout.write(f"API and dashboard: {address}\n")
        sys.stdout.flush()
