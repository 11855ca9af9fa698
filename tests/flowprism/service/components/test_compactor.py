"""How long what is kept."""

from __future__ import annotations

from flowprism.service.components.compactor import limits
from flowprism.service.config.settings import StoreSettings
from storage.lake.retention import DEFAULT_LIMITS, Limit

HOUR_NS = 3_600_000_000_000


def test_settings_go_before_what_is_usual() -> None:
    """A kind that is set is kept as set, for ever where nothing else is said; the others as usual."""
    store = StoreSettings.model_validate({"keep": {"flows": {"age_h": 12, "size_gib": 0.5}, "spans": {}}})
    assert limits(store) == {**DEFAULT_LIMITS, "flows": Limit(12 * HOUR_NS, 1 << 29), "spans": Limit(None, None)}
