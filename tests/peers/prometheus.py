"""A real Prometheus that scrapes a replay of made cases, 30 s of theirs a scrape.

Samples have their own times, as exporters may give them: the hour before now is over in a minute. A scrape that comes
too late for Prometheus loses nothing, since each one has what the one before had.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.diagnose.host_metrics.made_hosts import Case

PATIENCE_S = 300.0
STEP_S = 30
# Prometheus takes samples of the last hour; cases last 50 minutes.
AGO_S = 3120
CONFIG = """
scrape_configs:
- {{job_name: replay, scrape_interval: 400ms, scrape_timeout: 400ms, honor_labels: true,
   static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}
"""


def replay_start_s() -> int:
    """When cases have to begin, UTC, so that they are over now; a whole minute."""
    return (int(time.time()) - AGO_S) // 60 * 60


class Replay(ThreadingHTTPServer):
    """What hosts of made cases export, a step further with each scrape.

    Attributes:
        steps: lines of the exposition, step by step.
        scraped: how many scrapes there were.
    """

    def __init__(self, cases: Sequence[Case], start_s: int) -> None:
        super().__init__(("127.0.0.1", 0), _Exposition)
        self.scraped = 0
        self.steps: list[list[str]] = []
        for case in cases:
            for (name, host, device), (times_s, values) in case.samples.items():
                series = _series(name, host, device)
                for at_s, value in zip(times_s.tolist(), values.tolist(), strict=True):
                    step = (int(at_s) - start_s) // STEP_S
                    self.steps += [[] for _ in range(step + 1 - len(self.steps))]
                    self.steps[step].append(f"{series} {value!r} {int(at_s)}000\n")

    def exposition(self) -> bytes:
        """The next step, after the one before."""
        at, self.scraped = self.scraped, self.scraped + 1
        return "".join(line for step in self.steps[max(at - 1, 0) : at + 1] for line in step).encode()


class _Exposition(BaseHTTPRequestHandler):
    server: Replay

    def do_GET(self) -> None:
        """Answer a scrape."""
        body = self.server.exposition()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def prometheus_with(cases: Sequence[Case], start_s: int, folder: Path) -> Iterator[str]:
    """The address of a Prometheus that has scraped the hosts of cases that began then; skips where there is none."""
    if not shutil.which("prometheus"):
        pytest.skip("needs prometheus (Debian package prometheus)")
    with Replay(cases, start_s) as replay:
        threading.Thread(target=replay.serve_forever, daemon=True).start()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        config = folder / "prometheus.yml"
        config.write_text(CONFIG.format(port=replay.server_address[1]))
        command = [
            *("prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"),
            *(f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"),
        ]
        with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                _wait(f"http://127.0.0.1:{port}/-/ready", replay)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()
                replay.shutdown()


def _series(name: str, host: str, device: str) -> str:
    labels = f'Hostname="{host}",gpu="{device}"' if name.startswith("DCGM") else f'device="{device}",port="1"'
    return f'{name}{{instance="{host}.example:9100",{labels}}}'


def _wait(url: str, replay: Replay) -> None:
    """Until it is ready and has stored the last step: it asks for more once a scrape is stored."""
    until_s = time.monotonic() + PATIENCE_S
    while not _answers(url) or replay.scraped < len(replay.steps) + 2:
        assert time.monotonic() < until_s, "prometheus does not start, or does not scrape"
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1):  # noqa: S310 - loopback
            return True
    except (urllib.error.URLError, OSError):
        return False
