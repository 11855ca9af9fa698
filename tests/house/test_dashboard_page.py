"""docs/dashboard.md tells every page, every key and the policy as they are, and its pictures are there and small."""

import re

from fastapi import FastAPI

from flowprism.dashboard.pages import add_pages
from flowprism.service.access.security_headers import POLICY
from tests.flowprism.service.access.routes_of import routes_of
from tests.house.checkout import ROOT, rows

PAGE = "docs/dashboard.md"
MOST_PICTURE_BYTES = 150_000
PARTS_OF_PAGES = {"/static/{path}", "/static/{path:path}", "/jobs/{name}/timeline.spans"}


def test_every_page_is_listed() -> None:
    """By the address that its route has; no page that there is not."""
    text = (ROOT / PAGE).read_text()
    told = set(re.findall(r"^\| [^|]+ \| `(/[^`]*)` \|$", text, re.MULTILINE))
    app = FastAPI(docs_url=None, redoc_url=None)
    add_pages(app)
    served = {path for method, path in routes_of(app) if method == "GET" and not path.startswith("/openapi")}
    assert told == served - PARTS_OF_PAGES


def test_every_key_of_the_timeline_is_told() -> None:
    """The table has the keys that the module listens to."""
    module = (ROOT / "flowprism/dashboard/static/timeline/input.js").read_text()
    listed = module.partition("const KEYS = {")[2].partition("\n};")[0]
    keys = set(re.findall(r'^  "?([^\s":]+|:)"?: \(board\)', listed, re.MULTILINE))
    told = {key for row in rows(PAGE, "Timeline") for key in re.findall(r"`([^`]+)`", row[0])}
    assert keys == told
    assert len(keys) > 10


def test_pictures_are_there_and_small() -> None:
    """Each that is shown exists and takes less than 150 kB; none lies about unused."""
    shown = set(re.findall(r"\]\((images/dashboard-[^)]+)\)", (ROOT / PAGE).read_text()))
    there = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs/images").glob("dashboard-*.png")}
    assert shown == there
    assert [name for name in sorted(there) if (ROOT / "docs" / name).stat().st_size > MOST_PICTURE_BYTES] == []


def test_policy_is_stated_whole() -> None:
    """Word for word as it is sent."""
    assert POLICY in (ROOT / PAGE).read_text()
