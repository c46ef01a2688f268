"""The HTTP surface of the simulated server."""

from collections.abc import Awaitable, Callable
from itertools import count
from secrets import token_hex
from time import time

import orjson
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from cacheroute import __version__
from cacheroute.engine.answers import (
    DONE,
    ChatDialect,
    CompletionDialect,
    Dialect,
    Envelope,
    Json,
    error_body,
    usage,
)
from cacheroute.engine.api import ChatRequest, CompletionRequest, GenerationRequest, parse
from cacheroute.engine.driver import Driver, Ticket
from cacheroute.engine.errors import RequestError
from cacheroute.engine.jobs import Job, chat_job, completion_job
from cacheroute.engine.settings import EngineSettings

_LARGEST_BODY = 16 * 2**20
_LONGEST_ID = 128
_VERSION = f"0.33.0+cacheroute.{__version__}"
_COMPLETION, _CHAT = CompletionDialect(), ChatDialect()


class EngineServer:
    """Handlers of the API; one per application."""

    def __init__(self, settings: EngineSettings, driver: Driver, registry: CollectorRegistry) -> None:
        self._settings = settings
        self._driver = driver
        self._registry = registry
        self._ids = count()
        self._started = int(time())
        self._boot = token_hex(4)

    def application(self) -> web.Application:
        """Return the application with all routes."""
        app = web.Application(client_max_size=_LARGEST_BODY, middlewares=[_openai_errors])
        app.add_routes(
            [
                web.post("/v1/completions", self.completions),
                web.post("/v1/chat/completions", self.chat_completions),
                web.get("/v1/models", self.models),
                web.get("/health", self.health),
                web.get("/ping", self.health),
                web.post("/ping", self.health),
                web.get("/version", self.version),
                web.get("/metrics", self.metrics),
            ]
        )
        return app

    async def completions(self, request: web.Request) -> web.StreamResponse:
        """Answer POST /v1/completions."""
        body = parse(CompletionRequest, await request.read())
        self._check_model(body.model)
        return await self._answer(request, body, completion_job(body, self._settings), _COMPLETION)

    async def chat_completions(self, request: web.Request) -> web.StreamResponse:
        """Answer POST /v1/chat/completions."""
        body = parse(ChatRequest, await request.read())
        self._check_model(body.model)
        return await self._answer(request, body, chat_job(body, self._settings), _CHAT)

    async def models(self, _request: web.Request) -> web.Response:
        """Answer GET /v1/models."""
        cards = [
            {
                "id": name,
                "object": "model",
                "created": self._started,
                "owned_by": "cacheroute",
                "root": self._settings.engine_model,
                "parent": None,
                "max_model_len": self._settings.max_model_len,
            }
            for name in self._settings.served_names
        ]
        return _json(orjson.dumps({"object": "list", "data": cards}))

    async def health(self, _request: web.Request) -> web.Response:
        """Answer 200 as long as the process serves, during a shutdown too."""
        return web.Response()

    async def version(self, _request: web.Request) -> web.Response:
        """Answer the simulated vLLM version, with ours as its local part."""
        return _json(orjson.dumps({"version": _VERSION}))

    async def metrics(self, _request: web.Request) -> web.Response:
        """Answer a scrape."""
        headers = {"Content-Type": CONTENT_TYPE_PLAIN_0_0_4}
        return web.Response(body=generate_latest(self._registry), headers=headers)

    def _check_model(self, name: str | None) -> None:
        if name is not None and name not in self._settings.served_names:
            raise RequestError(404, "NotFoundError", f"The model `{name}` does not exist.", "model")

    async def _answer(
        self, request: web.Request, body: GenerationRequest, job: Job, dialect: Dialect
    ) -> web.StreamResponse:
        envelope = Envelope(
            dialect, self._request_id(request), int(time()), body.model or self._settings.name
        )
        ticket = self._driver.submit(job.work, stream=body.stream)
        try:
            if body.stream:
                return await self._stream(request, body, job, ticket, envelope)
            await ticket.news.wait()
            live = ticket.live
            text = job.piece(0, live.generated)
            return _json(envelope.whole(text, live.finish_reason or "", self._usage(ticket)))
        finally:
            self._driver.abort(ticket)

    def _request_id(self, request: web.Request) -> str:
        """Return the client's own id where it is fit to be repeated in every chunk, as vLLM does."""
        wished = request.headers.get("X-Request-Id", "")
        if wished.isascii() and wished.isprintable() and 0 < len(wished) <= _LONGEST_ID:
            return wished
        return f"{self._boot}-{next(self._ids)}"

    async def _stream(
        self, request: web.Request, body: GenerationRequest, job: Job, ticket: Ticket, envelope: Envelope
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        sent, opening, live = 0, envelope.dialect.opening(), ticket.live
        while True:
            await ticket.news.wait()
            ticket.news.clear()
            data = b"" if opening is None else envelope.chunk(opening)
            opening, start, sent = None, sent, live.generated
            reason = live.finish_reason
            if start < sent or reason:
                data += envelope.chunk(envelope.dialect.piece(job.piece(start, sent), reason))
            if reason is None:
                await response.write(data)
                continue
            if self._wants_usage(body):
                data += envelope.usage_chunk(self._usage(ticket))
            await response.write(data + DONE)
            await response.write_eof()
            return response

    def _usage(self, ticket: Ticket) -> Json:
        return usage(ticket.live, details=self._settings.report.prompt_tokens_details)

    def _wants_usage(self, body: GenerationRequest) -> bool:
        asked = body.stream_options is not None and body.stream_options.include_usage
        return asked or self._settings.report.force_include_usage


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


@web.middleware
async def _openai_errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer every refusal in OpenAI's error shape."""
    try:
        return await handler(request)
    except RequestError as error:
        return _json(error_body(error), error.status)
    except web.HTTPRequestEntityTooLarge:
        message = f"the body exceeds {_LARGEST_BODY} bytes"
        return _json(error_body(RequestError(413, "RequestEntityTooLargeError", message)), 413)
    except web.HTTPException as error:
        message = f"{error.reason}: {request.method} {request.path}"
        return _json(error_body(RequestError(error.status, "InvalidRequestError", message)), error.status)
