"""A destination that tells who it is and what it was sent; run as a process, so that it can be killed."""

import asyncio
import gzip
import json
import sys
from typing import Any

from aiohttp import web

USAGE = {"prompt_tokens": 1200, "prompt_tokens_details": {"cached_tokens": 1100}}
LARGEST_HEADER = 1024 * 1024
ANSWER_SECONDS = 0.01
"""Long enough that a killed process has requests in hand."""


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer with the request's headers and a usage; as a stream where the body asks for one."""
    body = await request.read()
    if b'"say"' in body:
        return await _say(request, json.loads(body)["say"])
    wants_stream = b'"stream": true' in body
    await asyncio.sleep(ANSWER_SECONDS)
    document = {"headers": {name.lower(): value for name, value in request.headers.items()}, "usage": USAGE}
    if not wants_stream:
        return web.json_response(document)
    return await _stream(request, web.json_response(document).text or "")


async def _say(request: web.Request, said: dict[str, Any]) -> web.StreamResponse:
    """Answer what the request asks for: a text, or events or raw pieces with pauses; ``break`` cuts it off.

    ``wait`` is a pause before the headers, ``headers`` are some of a text's answer.
    """
    await asyncio.sleep(said.get("wait", 0))
    headers = {"Content-Type": said.get("type", "application/json"), **said.get("headers", {})}
    if "text" in said:
        text = said["text"].encode()
        if said.get("gzip"):
            text, headers["Content-Encoding"] = gzip.compress(text), "gzip"
        return web.Response(body=text, status=said.get("status", 200), headers=headers)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for piece in said.get("pieces") or [f"data: {json.dumps(event)}\n\n" for event in said["events"]]:
        await asyncio.sleep(said.get("pause", 0))
        await response.write(piece.encode())
    if said.get("break") and request.transport is not None:
        request.transport.abort()
    return response


async def _stream(request: web.Request, last: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in ('{"choices": []}', last, "[DONE]"):
        await response.write(f"data: {event}\n\n".encode())
    return response


async def main() -> None:
    """Serve on a free port and print it."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(
        app,
        access_log=None,
        auto_decompress=False,
        max_line_size=LARGEST_HEADER,
        max_field_size=LARGEST_HEADER,
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
