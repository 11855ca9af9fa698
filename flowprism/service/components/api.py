"""The API and the dashboard, by uvicorn, on a socket that is open already."""

from __future__ import annotations

import os
import socket
from contextlib import closing, suppress
from ipaddress import ip_address

import uvicorn

from datamodel.errors import InputError, StorageError
from flowprism.dashboard.page_templates import environment
from flowprism.gc_tuning import raise_gc_threshold
from flowprism.service.access.access_settings import check_listening
from flowprism.service.app import application
from flowprism.service.components.component_context import ComponentContext
from flowprism.service.components.connections import (
    BoundedServer,
    ConnectionLimits,
    connection_class,
    raise_descriptor_limit,
)
from flowprism.service.components.heartbeat import Heartbeat, send_heartbeats
from flowprism.service.config.settings import ApiSettings, Settings
from flowprism.service.queries.analyses import names
from flowprism.service.stores import Stores
from storage.database.connection import Database

_BACKLOG = 512
_LEAVE_S = 3  # for answers that are under way; pages that listen for events come back by themselves


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
        door.listen(_BACKLOG)
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


def make_ready(stores: Stores) -> None:
    """Build what pages share once, so that the first request is not slower than others.

    That is their templates, compiled, and the inventory with what people call its endpoints.
    """
    for name in environment().list_templates():
        environment().get_template(name)
    with suppress(StorageError, ValueError):  # the pages that need it say what is wrong
        names(stores)


def run(context: ComponentContext) -> None:
    """Answer until SIGTERM or Ctrl-C, on the door the part was given, or on one of its own.

    Raises:
        InputError: the database or the port cannot be used.
    """
    settings = context.settings
    door = socket.socket(fileno=os.dup(context.doors[0])) if context.doors else open_socket(settings)
    database = Database(settings.store.database)
    stores = Stores(database, settings.store.flow_lake, settings.store.analysis_lake)
    app = application(stores, settings, settings.access)
    limits = raise_descriptor_limit(ConnectionLimits())
    config = uvicorn.Config(
        app,
        http=connection_class(limits, app.state.http_metrics.connection_closed),
        backlog=_BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whose word counts is for `flowprism.service.access` to say
        timeout_graceful_shutdown=_LEAVE_S,
    )
    raise_gc_threshold()
    with closing(door), closing(database), send_heartbeats(context, database, Heartbeat):
        make_ready(stores)
        server = BoundedServer(config)
        server.should_exit = context.stop.is_set()  # it listens to signals itself from now on
        server.run(sockets=[door])


def _family(api: ApiSettings) -> socket.AddressFamily:
    try:
        return socket.AF_INET6 if ip_address(api.host).version == 6 else socket.AF_INET
    except ValueError:
        return socket.AF_INET
