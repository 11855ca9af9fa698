"""docs/collectors.md names every field that is read of a collector, and no other column."""

import re

from capture.dialects.nfdump import NFDUMP
from capture.dialects.pmacct import PMACCT
from capture.goflow2.flow_message import COLUMNS
from datamodel.telemetry.flows import FLOWS
from tests.house.checkout import ROOT, rows

FIELDS = "What becomes of the fields"


def names(text: str) -> set[str]:
    """What stands in backticks."""
    return set(re.findall(r"`(\w+)`", text))


def test_the_table_has_the_columns_that_collectors_fill() -> None:
    """Every column that some collector gives has its row; a column that none gives has none."""
    listed = [
        name
        for row in rows("docs/collectors.md", FIELDS)
        for name in re.findall(r"`?(\w+)`?(?:, |$)", row[0].partition(" (")[0])
    ]
    assert sorted(listed) == sorted({*COLUMNS, "prescaled", "metered", "time_uncertainty_ns"})
    assert set(listed) <= set(FLOWS.names)


def test_every_field_that_is_read_is_named() -> None:
    """A field that a reader looks at stands on the page by its name."""
    page = (ROOT / "docs" / "collectors.md").read_text()
    read = {*PMACCT.columns, *NFDUMP.columns} - {"event_type"}
    assert sorted(read - names(page)) == []
