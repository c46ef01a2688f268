"""Requests of the OpenAI API, as far as they matter to a simulation. Unknown fields are ignored, as in vLLM."""

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cacheroute.engine.errors import invalid_body

Body = TypeVar("Body", bound=BaseModel)


class StreamOptions(BaseModel):
    """Options of a streamed answer."""

    model_config = ConfigDict(frozen=True)

    include_usage: bool = False
    """Whether the stream ends with a chunk that has the usage."""


class GenerationRequest(BaseModel):
    """What both kinds of request have."""

    model_config = ConfigDict(frozen=True)

    model: str | None = None
    max_tokens: int | None = None
    min_tokens: Annotated[int, Field(ge=0)] = 0
    ignore_eos: bool = False
    """Whether to generate ``max_tokens`` tokens whatever the text is."""
    n: Literal[1] = 1
    stream: bool = False
    stream_options: StreamOptions | None = None
    cache_salt: str = ""
    """Requests share cached blocks only with requests of the same salt."""


Prompt = str | list[int]


def _unpack(prompt: object) -> object:
    """Take the prompt out of a list of one prompt."""
    match prompt:
        case [str() | list() as only]:
            return only
        case _:
            return prompt


class CompletionRequest(GenerationRequest):
    """Body of POST /v1/completions."""

    prompt: Annotated[Prompt | None, BeforeValidator(_unpack)] = None
    """One prompt, as text or as token ids; a list of one prompt is taken too."""


class TextPart(BaseModel):
    """A piece of a message's content."""

    model_config = ConfigDict(frozen=True)

    type: Literal["text"]
    text: str


class Message(BaseModel):
    """One message of a chat."""

    model_config = ConfigDict(frozen=True)

    role: str
    content: str | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """The whole content."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "".join(part.text for part in self.content)


class ChatRequest(GenerationRequest):
    """Body of POST /v1/chat/completions."""

    messages: list[Message]
    max_completion_tokens: int | None = None


class TokenizeRequest(BaseModel):
    """Body of POST /tokenize."""

    model_config = ConfigDict(frozen=True)

    model: str | None = None
    prompt: str = ""
    messages: list[Message] | None = None
    """A chat in place of a prompt."""


def parse(kind: type[Body], data: bytes) -> Body:
    """Read a request body; raises RequestError (400) that names the first field at fault."""
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(("body", *(str(part) for part in first["loc"])))
        raise invalid_body(f"{where}: {first['msg']}", where) from None
