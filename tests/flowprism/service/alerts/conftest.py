"""What tests of alerts share."""

from __future__ import annotations

import warnings

import apprise
import pytest


@pytest.fixture(scope="session", autouse=True)
def apprise_loaded() -> None:
    """Apprise's services, which it loads when the first is asked for, not without a warning that is its own."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'imghdr' is deprecated", DeprecationWarning)
        assert apprise.Apprise.instantiate("json://localhost")
