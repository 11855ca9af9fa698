"""What the traffic of the newest window is for, by class."""

from __future__ import annotations

from datamodel.reconstructed.traffic import MEANINGS, TRAFFIC_CLASSES
from datamodel.reports.scan import Scan
from datamodel.service.api_models import ClassShare, TrafficView
from flowprism.service.stores import Stores
from storage.database.scans.scan_records import scans


def traffic(stores: Stores) -> TrafficView | None:
    """Shares of the classes in the newest scanned window; None without one, or where it has no traffic.

    They belong to all tenants: routes show them only to viewers of all tenants.

    Raises:
        StorageError: the database cannot be reached.
    """
    newest = scans(stores.database, most=1)
    return traffic_of(newest[0].scan) if newest else None


def traffic_of(scan: Scan) -> TrafficView | None:
    """Shares of the classes in one scanned window; None where it has no traffic."""
    found = scan.feed.traffic_classes
    if not found:
        return None
    total, lasted_s = max(sum(found.values()), 1), max(scan.window.end_ns - scan.window.start_ns, 1) / 1e9
    return TrafficView(
        window=scan.window,
        classes=tuple(
            ClassShare(
                traffic_class=name,
                meaning=MEANINGS[name],
                bytes=found[name],
                share_ratio=round(found[name] / total, 6),
                rate_bps=round(8 * found[name] / lasted_s, 3),
            )
            for name in sorted(TRAFFIC_CLASSES, key=lambda one: (-found.get(one, 0), one))
            if name in found
        ),
        serving=scan.serving,
    )
