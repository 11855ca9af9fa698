"""The API and the dashboard, by uvicorn, on a socket that is open already."""

from __future__ import annotations

import os
import socket
from contextlib import closing, suppress

import uvicorn

from datamodel.errors import StorageError
from flowprism.dashboard.page_templates import environment
from flowprism.gc_tuning import raise_gc_threshold
from flowprism.service.app import application
from flowprism.service.components.api_socket import BACKLOG, open_socket
from flowprism.service.components.component_context import ComponentContext
from flowprism.service.components.connections import (
    BoundedServer,
    ConnectionLimits,
    connection_class,
    raise_descriptor_limit,
)
from flowprism.service.components.heartbeat import Heartbeat, send_heartbeats
from flowprism.service.queries.jobs.analyses import names
from flowprism.service.stores import Stores
from storage.database.connection import Database

_LEAVE_S = 3  # for answers that are under way


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
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whose word counts is for `flowprism.service.access` to say
        timeout_graceful_shutdown=_LEAVE_S,
    )
    raise_gc_threshold()
    with closing(door), closing(database), send_heartbeats(context, database, Heartbeat):
        make_ready(stores)
        server = BoundedServer(config, app.state.station.close)
        server.should_exit = context.stop.is_set()  # it listens to signals itself from now on
        server.run(sockets=[door])
