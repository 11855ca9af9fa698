"""Compiling now what otherwise is compiled when it is first used, for minutes: `python -m flowprism.precompile`.

The decoders, of profiles too, are compiled by one process, the analysis of records by another, that of samples by a
third. What they compile stays next to the package where that is writable, otherwise in the user's cache, or where
NUMBA_CACHE_DIR says.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from capture.goflow2.dump_reader import FlowMessages, begins_with_message
from capture.reader import read_all
from datamodel.reconstructed.streams import Streams
from datamodel.reports.report import Report
from datamodel.telemetry.flows import Flows
from datamodel.telemetry.ingest_result import IngestResult
from datamodel.telemetry.profiles import ProfileReport
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.profiles.folder import read_profiles
from flowprism.profiles.reading import report_profiles
from reconstruct.jobs.job_recognition import JobOptions
from reconstruct.outages.outage_filling import fill_outages
from reconstruct.streams.stream_builder import build_streams
from simulate.case import simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.scenarios.sweep import Cell, sweep

_DECODERS = (
    "from capture.export_decoder import ExportDecoder; from capture.configured_rates import SamplingRates;"
    "from flowprism.collector.warmup import warm_up; warm_up(ExportDecoder(SamplingRates()));"
    "from flowprism.precompile import decode_messages, decode_packets, read_profile;"
    "decode_packets(); decode_messages(); read_profile()"
)
_ANALYSIS = (
    "from flowprism.service.components.scanner import warm_up; warm_up();"
    "from flowprism.precompile import fill_outage; fill_outage()"
)
_SAMPLES = "from flowprism.precompile import analyse_samples; analyse_samples()"


def main() -> int:
    """Compile all of it; 0 where that went well, 1 where a process failed or was killed."""
    codes = (_DECODERS, _ANALYSIS, _SAMPLES)
    processes = [subprocess.Popen([sys.executable, "-c", code]) for code in codes]  # noqa: S603 - our own
    results = [process.wait() for process in processes]
    return int(any(results))


def decode_packets() -> IngestResult:
    """The flow records of the bundled mirror."""
    with as_file(files("flowprism.demo") / "mirror.pcap.gz") as mirror:
        return read_all([mirror])


def decode_messages() -> Flows:
    """The records of one FlowMessage of GoFlow2: from a dump, and from Kafka with its length and without."""
    fields = (b"\x08\x04", b"\x32\x04\x0a\x00\x00\x01", b"\x3a\x04\x0a\x00\x00\x02", b"\x48\xe8\x07", b"\x50\x01")
    times = b"".join(number + b"\x80\x80\x90\xbb\xba\xad\xdb\xb6\x18" for number in (b"\xf8\x06", b"\x80\x07"))
    message = b"".join(fields) + times
    prefixed = bytes([len(message)]) + message
    begins_with_message(prefixed)
    decoder = FlowMessages()
    decoder.feed(prefixed, last=True)
    decoder.feed_each([prefixed], prefixed=True)
    decoder.feed_each([message], prefixed=False)
    return decoder.flows()


def read_profile() -> ProfileReport:
    """The report of one rank's trace: an iteration with a kernel, its operator and a number of each form."""
    times = ((1, 9), (2.5, 3.5), ("3.5", "2e0"))
    rows = (("user_annotation", "ProfilerStep#1"), ("cpu_op", "aten::mm"), ("kernel", "gemm"))
    events = [
        {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 1, "ts": start, "dur": lasting}
        for (category, name), (start, lasting) in zip(rows, times, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rank0.json").write_text(json.dumps({"traceEvents": events}))
        return report_profiles(*read_profiles(Path(folder)))


def fill_outage() -> Streams:
    """The streams of the bundled records, whose third tenth, from before the fault, is missing and put back."""
    with as_file(files("flowprism.demo") / "bursts.parquet") as records:
        flows = read_all([records]).flows
    end_ns = flows.frame["time_flow_end_ns"]
    gone_ns, back_ns = np.quantile(end_ns, [0.3, 0.4])
    seen = np.flatnonzero((end_ns < gone_ns) | (end_ns >= back_ns))
    return fill_outages(build_streams(flows.take(seen)), JobOptions().coherence)


def analyse_samples() -> Report:
    """The report of what sFlow shows of a small simulated job with a straggler."""
    straggler = Fault("straggler", first=10, rank=3, size=1.5)
    case = simulate_case(sweep(Cell(FeedSpec("sflow", 4096), 200.0, 2.0, 8, 1, 20, samples=20_000), straggler), 1)
    return analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report


if __name__ == "__main__":
    sys.exit(main())
