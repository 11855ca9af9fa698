"""`flowprism config` through the real command line."""

from pathlib import Path

import yaml
from typer.testing import CliRunner

from flowprism.cli import app


def test_defaults_are_right_and_shown() -> None:
    """Without a file the defaults are checked, and shown as a file that says the same."""
    assert "policies: default" in CliRunner().invoke(app, ["config", "check"]).output
    shown = yaml.safe_load(CliRunner().invoke(app, ["config", "show"]).output)
    assert shown["scans"]["policies"][0]["every_s"] == 60.0


def test_inventory_is_checked_too(tmp_path: Path) -> None:
    """An inventory that the settings name and that cannot be read is a mistake in the settings."""
    path = tmp_path / "f.yaml"
    path.write_text(f"scans: {{inventory: {tmp_path / 'none.yaml'}}}\n")
    result = CliRunner().invoke(app, ["config", "check", str(path)])
    assert "none.yaml: No such file" in str(result.exception)
