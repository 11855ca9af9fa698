"""The socket that API and dashboard answer on, for the supervisor too, which loads no web application for it."""

from __future__ import annotations

import socket
from ipaddress import ip_address

from datamodel.errors import InputError
from flowprism.service.access.access_settings import check_listening
from flowprism.service.config.settings import ApiSettings, Settings

BACKLOG = 512


def open_socket(settings: Settings) -> socket.socket:
    """The socket that API and dashboard answer on.

    Raises:
        InputError: the port is taken or not permitted, the address is not ours, or access would be open to all.
    """
    api = settings.api
    check_listening(settings.access, api.host, "api.host")
    # Named as TCP: asyncio turns Nagle's algorithm off for such sockets only, and every small answer would wait 40 ms.
    door = socket.socket(_family(api), socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((api.host, api.port))
        door.listen(BACKLOG)
    except OSError as error:
        door.close()
        raise InputError(
            f"{api.host}:{api.port}: cannot listen: {error.strerror} (settings api.host and api.port)"
        ) from None
    return door


def address_of(door: socket.socket) -> str:
    """Return the address for a browser on this host."""
    host, port = door.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - the other way round
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _family(api: ApiSettings) -> socket.AddressFamily:
    try:
        return socket.AF_INET6 if ip_address(api.host).version == 6 else socket.AF_INET
    except ValueError:
        return socket.AF_INET
