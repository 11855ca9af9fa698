"""docs/profiles.md gives the options that profiles are compared with."""

from dataclasses import asdict

import pytest

from diagnose.profiles.options import PlacementOptions, ProfileOptions
from tests.house.checkout import rows


@pytest.mark.parametrize(
    ("heading", "options"), [("What is compared", ProfileOptions()), ("Whose a profile is", PlacementOptions())]
)
def test_options_are_the_codes(heading: str, options: ProfileOptions | PlacementOptions) -> None:
    """Each with its value and a reason, and no other."""
    table = {
        row[0].strip("`"): float(row[1])
        for row in rows("docs/profiles.md", heading)
        if len(row) == 3 and row[1][0].isdigit() and row[2]
    }
    assert table == {name: float(value) for name, value in asdict(options).items()}
