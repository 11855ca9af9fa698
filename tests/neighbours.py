"""The captures beside the checkout, which a test asks for one by one; where one is absent the test is skipped."""

from __future__ import annotations

from os import PathLike
from pathlib import Path, PosixPath
from typing import Self

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


class Captures(PosixPath):
    """A folder beside the checkout, or what is in it: whoever goes on to a file or folder that is not there is skipped.

    A folder of that name may be anything, so it is no sign that the captures are there.
    """

    def __truediv__(self, key: str | PathLike[str]) -> Self:
        """The file or folder of this name, which exists."""
        found = super().__truediv__(key)
        if not found.exists():
            pytest.skip(f"no {found.relative_to(SHARED.parent)} beside the checkout")
        return found
