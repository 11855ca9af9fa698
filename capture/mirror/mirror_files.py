"""The mirrors that capture files hold: one where a capture was cut into files, several where they are side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from capture.files.capture_file import Batch
from capture.ingest_log import IngestLog
from capture.mirror.mirror import Mirror
from capture.packets.packet_columns import NO_TIME_STAMP

_OVERLAP_NS = 10_000_000  # by which packets of one capture may be out of order


class MirrorFiles:
    """Follows the packets of files, one after the other.

    Attributes:
        mirrors: one for each file that did not go on where the one before it ended.
        newest_ns: time of the newest packet of the last mirror.
    """

    def __init__(self) -> None:
        self.mirrors: list[Mirror] = []
        self.newest_ns = 0

    def follow(self, parts: Iterable[Batch]) -> Iterator[Mirror]:
        """Take in a file; after each of its batches, the mirror that it belongs to."""
        begun = False
        for part in parts:
            dated = part.packets[part.packets["reason"] != NO_TIME_STAMP]
            if not begun and (len(dated) or not self.mirrors):
                begun = True
                first_ns = int(dated["time_ns"].min(initial=self.newest_ns))
                if not self.mirrors or first_ns < self.newest_ns - _OVERLAP_NS:
                    self.mirrors.append(Mirror())
                    self.newest_ns = 0
            self.mirrors[-1].feed(part.packets)
            self.newest_ns = max(self.newest_ns, int(dated["time_ns"].max(initial=0)))
            yield self.mirrors[-1]

    def account(self, ingest_log: IngestLog) -> None:
        """Report to `ingest_log` what was left out or guessed."""
        for mirror in self.mirrors:
            mirror.account(ingest_log)
