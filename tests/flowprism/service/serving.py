"""The real application behind a real server, for what no in-process client shows."""

from __future__ import annotations

import faulthandler
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from flowprism.service.components.connections import BoundedServer


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """An application on a free port of this machine; its address."""
    # Named as TCP: asyncio turns Nagle's algorithm off for such sockets only, and every small answer would wait 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="error", proxy_headers=False, timeout_graceful_shutdown=1)
        server = BoundedServer(config, app.state.station.close)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)
            if thread.is_alive():
                faulthandler.dump_traceback(all_threads=True)  # what it waits for
            assert not thread.is_alive()
