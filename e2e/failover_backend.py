"""A destination that answers late, streams for long or says that it is sick; run as a process: HOST is its argument.

A body may say ``seconds`` (until the answer begins), ``events`` and ``pause`` (of a stream, seconds). POST /sick
makes /health answer 503, POST /well 200 again, and POST /break?after=N breaks the connection of the next request after
N bytes of ANSWER, with `always` of every request from then on. There is nothing to GET besides.
"""

import asyncio
import json
import sys
from typing import Any

from aiohttp import web

ANSWER_SECONDS = 0.01
HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n"
ANSWER = HEADERS + b'{"ok":true}'


class Destination:
    """One process' state."""

    def __init__(self) -> None:
        self.status = 200
        self.break_after: int | None = None
        self.breaks_always = False

    async def health(self, _request: web.Request) -> web.Response:
        """Answer as the last POST said."""
        return web.Response(status=self.status)

    async def turn(self, request: web.Request) -> web.Response:
        """Become sick or well, or break once."""
        if request.path == "/break":
            self.break_after = int(request.query["after"])
            self.breaks_always = "always" in request.query
        else:
            self.status = 503 if request.path == "/sick" else 200
        return web.Response()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer as the body wishes."""
        body: dict[str, Any] = json.loads(await request.read())
        if self.break_after is not None and request.transport is not None:
            request.transport.write(ANSWER[: self.break_after])
            self.break_after = self.break_after if self.breaks_always else None
            request.transport.abort()
        if body.get("events"):
            return await self._stream(request, body)
        await asyncio.sleep(body.get("seconds", ANSWER_SECONDS))
        return web.json_response({"ok": True})

    async def _stream(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number in range(body["events"]):
            await response.write(b'data: {"event": %d}\n\n' % number)
            await asyncio.sleep(body.get("pause", 0.1))
        await response.write(b"data: [DONE]\n\n")
        return response


async def main() -> None:
    """Serve on a free port and print it."""
    destination = Destination()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_get("/health", destination.health)
    app.router.add_post("/sick", destination.turn)
    app.router.add_post("/well", destination.turn)
    app.router.add_post("/break", destination.turn)
    app.router.add_post("/{path:.*}", destination.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, sys.argv[1], 0).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
