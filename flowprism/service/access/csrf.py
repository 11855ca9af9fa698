"""Requests that another site's page made a browser send: it shows our cookie, but the person never asked for it."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

from flowprism.service.access.authentication import Authentication
from flowprism.service.access.denied_responses import AccessDenied
from flowprism.service.access.peers import Peer

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def check_same_site(request: Request, peer: Peer, who: Authentication | None) -> None:
    """Refuse a change that did not come from a page of ours.

    Browsers say where a request came from in `Sec-Fetch-Site`, older ones in `Origin`; no page can set either. A
    token is shown by programs only, so nothing is asked of it. What says neither is no browser: it passes where a
    browser would not show anything by itself, that is on this machine without authentication.

    Raises:
        Refusal: 403.
    """
    if request.method in SAFE_METHODS or (who is not None and who.means == "token"):
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        ours = site in {"same-origin", "none"}
    elif origin is not None:
        ours = urlsplit(origin).netloc.lower() == peer.host.lower() != ""
    else:
        ours = who is None or who.means == "local"
    if not ours:
        raise AccessDenied(403, "this request came from another site's page")
