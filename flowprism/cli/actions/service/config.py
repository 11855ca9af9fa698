"""Settings from the command line: read them as the service would."""

from __future__ import annotations

import os
from pathlib import Path

import typer
import yaml

from flowprism.inputs.inventory_file import load_inventory
from flowprism.service.config.settings import Settings, shown
from flowprism.service.config.settings_file import load_settings


def check_settings(file: Path | None) -> None:
    """Say that settings can be used.

    Raises:
        InputError: they cannot; the message says where and why.
    """
    settings = _loaded(file)
    policies = ", ".join(policy.name for policy in settings.scans.policies)
    typer.echo(f"{file or 'defaults'}: settings are right; policies: {policies}")


def print_settings(file: Path | None) -> None:
    """Print the settings that count, as YAML.

    Raises:
        InputError: they cannot be used.
    """
    typer.echo(yaml.safe_dump(shown(_loaded(file)), sort_keys=False, width=110), nl=False)


def _loaded(file: Path | None) -> Settings:
    settings = load_settings(file, os.environ)
    if settings.scans.inventory is not None:
        load_inventory(settings.scans.inventory)
    if settings.alerts.receivers:
        from flowprism.service.alerts.senders import check_receivers  # here: a hundred services take their time

        check_receivers(settings.alerts)
    return settings
