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
    event,
    stream_usage,
    whole_usage,
)
from cacheroute.engine.api import ChatRequest, CompletionRequest, GenerationRequest, TokenizeRequest, parse
from cacheroute.engine.driver import Driver, Ticket
from cacheroute.engine.errors import RequestError, engine_ended
from cacheroute.engine.jobs import Job, chat_job, completion_job, prompt_ids
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
                web.post("/tokenize", self.tokenize),
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
                "permission": [_permission(self._started)],
            }
            for name in self._settings.served_names
        ]
        return _json(orjson.dumps({"object": "list", "data": cards}))

    async def tokenize(self, request: web.Request) -> web.Response:
        """Answer POST /tokenize: the token ids of a prompt or of messages."""
        body = parse(TokenizeRequest, await request.read())
        self._check_model(body.model)
        ids = prompt_ids(body).tolist()
        length = self._settings.max_model_len
        answer = {"count": len(ids), "max_model_len": length, "tokens": ids, "token_strs": None}
        return _json(orjson.dumps(answer))

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
            known = ", ".join(self._settings.served_names)
            message = f"The model `{name}` does not exist. Valid aliases: {known}."
            raise RequestError(404, "NotFoundError", message, "model")

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
            if ticket.lost:
                raise engine_ended()
            live = ticket.live
            text = job.piece(0, live.generated)
            counts = whole_usage(live, self._details(ticket, dialect))
            return _json(envelope.whole(text, live.finish_reason or "", counts))
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
            data = b"" if opening is None else envelope.opening(opening)
            opening, start, sent = None, sent, live.generated
            reason = live.finish_reason
            wants_usage = self._wants_usage(body)
            if ticket.lost:
                data += event(error_body(engine_ended()))
            elif start < sent or reason:
                piece = envelope.dialect.piece(job.piece(start, sent), reason)
                data += envelope.chunk(piece, last=bool(reason) and not wants_usage)
            if reason is None:
                await response.write(data)
                continue
            if wants_usage and not ticket.lost:
                data += envelope.usage_chunk(stream_usage(live, self._details(ticket, envelope.dialect)))
            await response.write(data + DONE)
            await response.write_eof()
            return response

    def _details(self, ticket: Ticket, dialect: Dialect) -> Json | None:
        """Return what usage tells of the prompt; None where that is switched off."""
        if not self._settings.report.prompt_tokens_details:
            return None
        return dialect.details(ticket.live, self._settings.cache.block_size)

    def _wants_usage(self, body: GenerationRequest) -> bool:
        asked = body.stream_options is not None and body.stream_options.include_usage
        return asked or self._settings.report.force_include_usage


def _permission(created: int) -> Json:
    """Return what a model card says of itself; no client looks at it."""
    denied = dict.fromkeys(("allow_create_engine", "allow_search_indices", "allow_fine_tuning"), False)
    allowed = dict.fromkeys(("allow_sampling", "allow_logprobs", "allow_view"), True)
    fixed = {"organization": "*", "group": None, "is_blocking": False}
    return {
        "id": "modelperm-0",
        "object": "model_permission",
        "created": created,
        **denied,
        **allowed,
        **fixed,
    }


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


@web.middleware
async def _openai_errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer every refusal as vLLM does: in OpenAI's error shape, and unknown paths and methods with a ``detail``."""
    try:
        return await handler(request)
    except RequestError as error:
        return _json(orjson.dumps(error_body(error)), error.status)
    except web.HTTPRequestEntityTooLarge:
        message = f"the body exceeds {_LARGEST_BODY} bytes"
        refusal = RequestError(413, "RequestEntityTooLargeError", message)
        return _json(orjson.dumps(error_body(refusal)), 413)
    except web.HTTPException as error:
        return _json(orjson.dumps({"detail": error.reason}), error.status)
