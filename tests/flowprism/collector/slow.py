"""A decoder of export datagrams to which each flow record costs a time, so that its collector is overloaded at will."""

from __future__ import annotations

import time

from capture.configured_rates import SamplingRates
from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import Datagrams
from flowprism.collector import load_watch, thinning_control

RECORD_S = 0.0005


class SlowDecoder(ExportDecoder):
    """Sleeps for each record; decisions are made in a tenth of the usual time, and long before the ring is full."""

    def __init__(self, rates: SamplingRates) -> None:
        super().__init__(rates)
        load_watch._SPAN_S, thinning_control._CALM_S = 0.025, 0.4
        thinning_control._AHEAD_S = 3600.0

    def feed(self, batch: Datagrams) -> None:
        """Decode, and take the time for it."""
        before = self.records
        super().feed(batch)
        time.sleep(RECORD_S * (self.records - before))
