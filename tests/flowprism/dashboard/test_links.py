from __future__ import annotations

import re
from html import unescape

import pytest

from flowprism.service.stores import Stores
from tests.flowprism.service.api.client import client

_MOST = 120


@pytest.mark.slow
def test_every_link_leads_somewhere(demo: Stores) -> None:
    """From the overview on, page after page: each address that a page names is answered with 200."""
    asking, ahead, seen = client(demo), ["/"], set[str]()
    while ahead and len(seen) < _MOST:
        path = ahead.pop(0)
        if path in seen:
            continue
        seen.add(path)
        answer = asking.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:300]}"
        if answer.headers["content-type"].startswith("text/html") and not path.startswith("/api/"):
            here = path.partition("?")[0]
            named = (unescape(link) for link in re.findall(r'href="([^"#]+)', answer.text))
            ahead += [here + link if link.startswith("?") else link for link in named if link[0] in "/?"]
    assert {"/", "/incidents", "/fabric", "/scans", "/feeds", "/settings"} < seen
