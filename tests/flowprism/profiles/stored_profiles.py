"""Profiles of a made job, read for an incident as an operator reads them."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from flowprism.cli import app
from flowprism.service.stores import Stores
from storage.database.incidents.incident_records import incidents
from tests.diagnose.profiles.made_profiles import case_of, write_case

SLOW_KERNELS = 1


def profile_read(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and stdout, or the error."""
    result = CliRunner().invoke(app, ["profile", "read", str(folder), *arguments])
    return result.exit_code, result.stdout or str(result.exception)


def only_incident(stores: Stores) -> str:
    """The id of the incident of the bundled capture."""
    (one,) = incidents(stores.database)
    return one.id


def read_profiles_of(stores: Stores, folder: Path, number: int = SLOW_KERNELS) -> str:
    """Read recordings of a made case for the only incident; what the command printed."""
    folder.mkdir(exist_ok=True)
    write_case(case_of(number), folder)
    code, text = profile_read(folder, "--incident", only_incident(stores), "--results", stores.database.name)
    assert code == 0, text
    return text
