"""docs/exporters.md describes the rules, the languages and the plan that there are."""

import re

from flowprism.exporter_config.findings import RULES
from flowprism.exporter_config.model import Vendor
from flowprism.exporter_config.plan import ExportPlan
from tests.configs.problem import problems
from tests.house.checkout import ROOT

PAGE = (ROOT / "docs" / "exporters.md").read_text()


def rows(heading: str) -> list[str]:
    """First cells of the table under a heading."""
    section = PAGE.split(f"## {heading}", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)


def test_every_rule_has_a_row() -> None:
    """The table of rules is the rules, in their order."""
    assert rows("The rules") == list(RULES)


def test_every_language_has_a_row() -> None:
    """The table of languages is the vendors."""
    assert rows("What is read and written") == [str(vendor) for vendor in Vendor]


def test_every_field_of_the_plan_is_in_the_example() -> None:
    """The example of a plan names every field."""
    example = PAGE.split("```yaml", 1)[1].split("```", 1)[0]
    names = {field.alias or name for name, field in ExportPlan.model_fields.items()}
    assert set(re.findall(r"^(\w+):", example, re.MULTILINE)) == names


def test_number_of_problems() -> None:
    """The page counts the problems rightly."""
    assert f"holds {len(problems())} problems" in PAGE
