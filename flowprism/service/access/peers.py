"""The client of a request, by its connection and a trusted proxy's headers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.requests import HTTPConnection

from flowprism.service.access.access_settings import is_loopback

Network = IPv4Network | IPv6Network
# Headers that only something between a client and us adds.
FORWARDING = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


@dataclass(frozen=True, slots=True)
class Peer:
    """The client of a request.

    Attributes:
        address: of the client; "" where it came through a socket that has none.
        host: the requested `HOST[:PORT]`.
        secure: whether it asked by https.
        by_proxy: whether the request came from a trusted proxy.
        forwarded: whether it went through any proxy, by its headers.
        here: whether the connection comes from this machine.
    """

    address: str
    host: str
    secure: bool
    by_proxy: bool
    forwarded: bool
    here: bool

    @property
    def neighbourhood(self) -> str:
        """What a limit counts by: an IPv6 client has 2**64 addresses at least, and all of them count as one."""
        address = _address(self.address)
        return str(IPv6Network((address, 64), strict=False)) if isinstance(address, IPv6Address) else self.address


def peer_of(connection: HTTPConnection, trusted: Sequence[Network]) -> Peer:
    """Read it off a request.

    What proxies say of the client is a list to which each adds at the right: read from there, the first that is no
    trusted proxy is the client, and what stands left of it could be its own invention.
    """
    headers = connection.headers
    near = connection.client.host if connection.client else ""
    by_proxy = _is_trusted(near, trusted)
    far, scheme, host = near, connection.url.scheme, headers.get("host", "")
    if by_proxy:
        hops = [hop for line in headers.getlist("x-forwarded-for") for hop in line.split(",")]
        far = next((hop.strip() for hop in reversed(hops) if not _is_trusted(hop.strip(), trusted)), near)
        scheme = _last(headers.getlist("x-forwarded-proto")) or scheme
        host = _last(headers.getlist("x-forwarded-host")) or host
    return Peer(
        address=_text(far),
        host=host,
        secure=scheme.lower() == "https",
        by_proxy=by_proxy,
        forwarded=any(name in headers for name in FORWARDING),
        here=not near or is_loopback(near),
    )


def host_name(host: str) -> str:
    """The name in `HOST[:PORT]`, brackets of an IPv6 address taken off."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _last(lines: Sequence[str]) -> str:
    return lines[-1].rpartition(",")[2].strip() if lines else ""


def _is_trusted(text: str, trusted: Sequence[Network]) -> bool:
    address = _address(text)
    return address is not None and any(address in network for network in trusted)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """The address of a text, which may have a port: some proxies write it."""
    with_port = text.startswith("[") or text.count(":") == 1
    try:
        address = ip_address(host_name(text) if with_port else text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _text(text: str) -> str:
    """An address in its one form; what is none, cut short: it is logged and counted by."""
    return str(_address(text) or text[:100])
