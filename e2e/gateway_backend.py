"""A destination that tells who it is and what it was sent; run as a process, so that it can be killed."""

import asyncio
import sys

from aiohttp import web

USAGE = {"prompt_tokens": 1200, "prompt_tokens_details": {"cached_tokens": 1100}}
LARGEST_HEADER = 1024 * 1024
ANSWER_SECONDS = 0.01
"""Long enough that a killed process has requests in hand."""


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer with the request's headers and a usage; as a stream where the body asks for one."""
    wants_stream = b'"stream": true' in await request.read()
    await asyncio.sleep(ANSWER_SECONDS)
    document = {"headers": {name.lower(): value for name, value in request.headers.items()}, "usage": USAGE}
    if not wants_stream:
        return web.json_response(document)
    return await _stream(request, web.json_response(document).text or "")


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
