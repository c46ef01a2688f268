"""``cacheroute engine``: a simulated vLLM server."""

from typing import Annotated

import typer


def engine(
    model: Annotated[str, typer.Option(help="Model name in requests, answers and metrics.")] = "simulated",
    served_model_name: Annotated[
        list[str] | None,
        typer.Option(help="The name instead of --model; may be repeated, the first one is used in metrics."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "0.0.0.0",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)
    ] = 8000,
    engine_model: Annotated[
        str, typer.Option(help="Whose step times to simulate: 8b-bf16, 70b-fp8 or 70b-fp16.")
    ] = "70b-fp8",
    speed: Annotated[
        float, typer.Option(help="How many times faster than the real engine, 0.01 to 1000.")
    ] = 1.0,
    block_size: Annotated[int, typer.Option(help="Tokens in a KV block.")] = 16,
    num_gpu_blocks_override: Annotated[
        int | None,
        typer.Option(help="KV blocks (one stays unused, as in vLLM); default: from --engine-model."),
    ] = None,
    max_model_len: Annotated[
        int | None, typer.Option(help="Most tokens of a request; default: the KV cache, at most 131072.")
    ] = None,
    max_num_batched_tokens: Annotated[int, typer.Option(help="Most tokens in a step.")] = 8192,
    max_num_seqs: Annotated[int, typer.Option(help="Most requests that run at once.")] = 1024,
    shutdown_timeout: Annotated[
        float,
        typer.Option(help="Seconds that running requests get after SIGTERM; with 0 they are lost (500)."),
    ] = 0.0,
    enable_prompt_tokens_details: Annotated[
        bool,
        typer.Option(
            help="Report cached_tokens in usage. On here, off in vLLM: the gateway measures the cache hits with it."
        ),
    ] = True,
    enable_force_include_usage: Annotated[
        bool, typer.Option(help="End every stream with usage, asked for or not.")
    ] = False,
) -> None:
    """Run a simulated vLLM server: OpenAI API, prefix cache, vllm: metrics. It needs no GPU.

    It answers made-up text in the time that the real engine would take. Flags that vLLM has mean the same here.
    """
    from cacheroute.cli.errors import FAILURE, USAGE, fail
    from cacheroute.engine.errors import ListenError, SettingsError
    from cacheroute.engine.run import run
    from cacheroute.engine.settings import BatchSettings, CacheSettings, EngineSettings, ReportSettings

    try:
        settings = EngineSettings(
            served_names=tuple(served_model_name or [model]),
            engine_model=engine_model,
            speed=speed,
            shutdown_timeout=shutdown_timeout,
            cache=CacheSettings(block_size, num_gpu_blocks_override),
            batch=BatchSettings(max_model_len, max_num_batched_tokens, max_num_seqs),
            report=ReportSettings(enable_prompt_tokens_details, enable_force_include_usage),
        )
    except SettingsError as error:
        fail(str(error), USAGE)

    def started(bound: int) -> None:
        what = f"{engine_model}, {settings.total_blocks} blocks of {block_size} tokens, speed {speed:g}"
        typer.echo(f"cacheroute engine: {settings.name} on http://{host}:{bound} ({what})")

    try:
        run(settings, host, port, started)
    except ListenError as error:
        fail(str(error), FAILURE)
