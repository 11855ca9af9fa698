"""docs/configuration.md names every setting that there is, with its default."""

import yaml

from flowprism.service.config.settings import Settings
from tests.house.configuration_page import BEGIN, END, PAGE, tables


def test_every_setting_is_described() -> None:
    """The tables of the page are those of the settings' classes (`python -m tests.house.configuration_page`)."""
    written = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert written.strip() == tables().strip()


def test_no_setting_is_without_meaning() -> None:
    """Every row of the tables says what the setting means."""
    rows = [line for line in tables().splitlines() if line.startswith("| `")]
    assert [row for row in rows if not row.rstrip(" |").split("|")[-1].strip()] == []


def test_example_can_be_used() -> None:
    """The example on the page is a file of settings."""
    example = PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]
    assert Settings.model_validate(yaml.safe_load(example)).scans.policies[1].tenants == ("t1",)
