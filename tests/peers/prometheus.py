"""A real Prometheus over made cases: promtool writes its blocks, so that an hour need not be scraped for an hour."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.diagnose.host_metrics.made_hosts import Case

PATIENCE_S = 60.0


@contextmanager
def prometheus_with(cases: Sequence[Case], folder: Path) -> Iterator[str]:
    """The address of a Prometheus that has scraped these hosts; skips where there is none."""
    if not (shutil.which("prometheus") and shutil.which("promtool")):
        pytest.skip("needs prometheus and promtool (Debian package prometheus)")
    text, data = folder / "cases.txt", folder / "data"
    with text.open("w") as out:
        for metric in sorted({name for case in cases for name, _, _ in case.samples}):
            for case in cases:
                out.writelines(_lines(case, metric))
        out.write("# EOF\n")
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", str(text), str(data)],
        check=True, capture_output=True,
    )  # fmt: skip
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "prometheus.yml"
    config.write_text("global: {scrape_interval: 1h}\n")
    command = [
        *("prometheus", f"--config.file={config}", f"--storage.tsdb.path={data}"),
        *("--storage.tsdb.retention.time=100y", f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"),
    ]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            _wait(f"http://127.0.0.1:{port}/-/ready")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _lines(case: Case, metric: str) -> Iterator[str]:
    for (name, host, device), (times_s, values) in case.samples.items():
        if name == metric:
            labels = f'Hostname="{host}",gpu="{device}"' if name.startswith("DCGM") else f'device="{device}",port="1"'
            line = f'{name}{{instance="{host}.example:9100",{labels}}} '
            yield from (
                f"{line}{value!r} {at_s}\n" for at_s, value in zip(times_s.tolist(), values.tolist(), strict=True)
            )


def _wait(url: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=1):  # noqa: S310 - loopback
                return
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < until_s, "prometheus does not start"
            time.sleep(0.1)
