"""The page in a real Chromium: nothing is complained of, nothing is asked for, and the figures have their size."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowprism.rendering.formats.html import render_html
from flowprism.rendering.names import names_of
from tests.flowprism import sample

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


@dataclass(frozen=True)
class Visit:
    """What came of opening a page: the document afterwards, console messages, and every address asked for."""

    dom: str
    console: list[str]
    requests: set[str]


def visit(page: Path, folder: Path) -> Visit:
    """Open `page` as a file; console messages and the network log are Chromium's own."""
    log = folder / "net.json"
    options = (f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", "--dump-dom", page.as_uri())
    done = subprocess.run(
        [str(CHROMIUM), *FLAGS, *options], check=True, capture_output=True, text=True, timeout=120, cwd=folder
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    asked = [event["params"] for event in json.loads(log.read_text())["events"] if "url" in event.get("params", {})]
    # The browser asks for things of its own; what a page opened from a file asks for is kept apart under that key.
    urls = {params["url"] for params in asked if params.get("network_isolation_key", "").startswith("file:")}
    return Visit(done.stdout, console, urls)


def test_the_page_opens_in_silence(tmp_path: Path) -> None:
    """No console message, no request, and its style sheet applies under its own policy."""
    page = tmp_path / "report.html"
    page.write_text(render_html(sample.analysis(), names_of(sample.inventory())), encoding="utf-8")
    seen = visit(page, tmp_path)
    assert seen.console == []
    assert seen.requests == set()
    assert "moves data at a sixth of the rate" in seen.dom
    assert len(re.findall(r"<rect", seen.dom)) > 300


def test_what_the_page_must_not_do_would_be_noticed(tmp_path: Path) -> None:
    """The same check on a page with a style that the policy refuses and, without policy, an image from elsewhere."""
    source = render_html(sample.no_job(), names_of(None))
    page = tmp_path / "report.html"
    page.write_text(source.replace("<main>", '<main><p style="color: red">x</p>'), encoding="utf-8")
    assert any("Content Security Policy" in line for line in visit(page, tmp_path).console)
    open_page = re.sub(r"<meta http-equiv=[^>]*>", "", source)
    page.write_text(open_page.replace("<main>", '<main><img src="http://127.0.0.1:9/x.png">'), encoding="utf-8")
    assert visit(page, tmp_path).requests == {"http://127.0.0.1:9/x.png"}
