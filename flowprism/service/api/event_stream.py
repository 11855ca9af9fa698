"""`/stream`: server-sent events, so that pages know when to reload (https://html.spec.whatwg.org, 9.2).

One query each half second serves all listeners of this process. An event names what is new;
what it is like now, one asks for.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

from fastapi import APIRouter, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from datamodel.errors import StorageError
from flowprism.service.access.dependencies import Seeing
from flowprism.service.queries.changes import Change, ChangeTracker
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

router = APIRouter(tags=["stream"])
LOOK_EVERY_S = 0.5  # a page waits up to a second more after it was renewed, and shows what is new within two
HEARTBEAT_S = 15.0  # proxies close what is silent for long
LONGEST_S = 600.0  # then the client reconnects and authenticates again
MOST_LISTENERS = 500
_KEPT, _BEHIND = 1000, 1000
_RETRY_MS = 2000


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A change with its number, which grows with time."""

    number: int
    change: Change


@dataclass(slots=True)
class EventBroadcaster:
    """Queries changes while there are listeners, and notifies them.

    Attributes:
        stores: where to look.
        listeners: a queue each; one that is full is dropped, and its client comes again. None wakes one that is to end.
    """

    stores: Stores
    listeners: set[asyncio.Queue[_Numbered | None]] = field(default_factory=set)
    _past: deque[_Numbered] = field(default_factory=lambda: deque(maxlen=_KEPT))
    _number: int = 0
    _looking: asyncio.Task[None] | None = None
    _watch: ChangeTracker | None = None

    async def listen(self, viewer: Viewer, last: int | None) -> AsyncIterator[str]:
        """What is new for a viewer, as text of events, behind the number `last`."""
        queue: asyncio.Queue[_Numbered | None] = asyncio.Queue(_BEHIND)
        self.listeners.add(queue)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        ends_s = time.monotonic() + LONGEST_S
        try:
            yield f"retry: {_RETRY_MS}\n\n"
            for text in self._missed(viewer, last):
                yield text
            while queue in self.listeners and (left_s := ends_s - time.monotonic()) > 0:
                try:
                    numbered = await asyncio.wait_for(queue.get(), min(HEARTBEAT_S, left_s))
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if numbered is not None and numbered.change.is_for(viewer):
                    yield _text(numbered)
        finally:
            self.listeners.discard(queue)

    def close(self) -> None:
        """End all streams, because the service stops; clients come again by themselves."""
        for queue in tuple(self.listeners):
            self.listeners.discard(queue)
            with suppress(asyncio.QueueFull):  # who is that far behind does not wait for an event
                queue.put_nowait(None)

    def _missed(self, viewer: Viewer, last: int | None) -> list[str]:
        """What came since a client was here; where that is not known any more, that it should ask for everything."""
        if last is None:
            return []
        if not self._past or last < self._past[0].number - 1:
            return [f"id: {self._next_number()}\nevent: reset\ndata: {{}}\n\n"]
        return [_text(one) for one in self._past if one.number > last and one.change.is_for(viewer)]

    async def _look(self) -> None:
        """Query repeatedly until there is no listener."""
        self._watch = self._watch or ChangeTracker(self.stores)
        while self.listeners:
            try:
                found = await run_in_threadpool(self._watch.look)
            except StorageError:
                found = []  # the next look finds it
            for change in found:
                self._tell(_Numbered(self._next_number(), change))
            await asyncio.sleep(LOOK_EVERY_S)

    def _tell(self, numbered: _Numbered) -> None:
        self._past.append(numbered)
        for queue in tuple(self.listeners):
            try:
                queue.put_nowait(numbered)
            except asyncio.QueueFull:
                self.listeners.discard(queue)

    def _next_number(self) -> int:
        self._number = max(self._number + 1, time.time_ns() // 1_000_000)
        return self._number


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    summary="What is new, as it comes",
)
async def stream(request: Request, viewer: Seeing) -> StreamingResponse:
    """Server-sent events `incident`, `scan` and `feed`; `reset` where a client was away for too long."""
    station: EventBroadcaster = request.app.state.station
    if len(station.listeners) >= MOST_LISTENERS:
        raise HTTPException(503, "too many listen already", {"Retry-After": "30"})
    last = request.headers.get("Last-Event-ID", "")
    number = int(last) if last.isascii() and last.isdigit() and len(last) < 19 else None
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(station.listen(viewer, number), headers=headers, media_type="text/event-stream")


def _text(numbered: _Numbered) -> str:
    said = json.dumps(numbered.change.about, separators=(",", ":"))
    return f"id: {numbered.number}\nevent: {numbered.change.kind}\ndata: {said}\n\n"
