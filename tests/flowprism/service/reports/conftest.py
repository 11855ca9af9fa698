"""What tests of reports share with those of alerts."""

from tests.flowprism.service.alerts.conftest import apprise_loaded

__all__ = ["apprise_loaded"]
