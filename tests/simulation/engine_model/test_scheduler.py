from cacheroute.simulation.engine_model.requests import EngineRequest, LiveRequest
from cacheroute.simulation.engine_model.scheduler import EngineLimits, Scheduler


def live(name: str, prompt: int, output: int = 1, size: int = 4) -> LiveRequest:
    """Return a request whose blocks nobody shares but those of the same name."""
    hashes = [f"{name}{block}" for block in range((prompt + output) // size)]
    return LiveRequest(EngineRequest(prompt, output, hashes), 0.0, 0.0)


def scheduler(blocks: int = 100, batched: int = 8192, sequences: int = 1024) -> Scheduler:
    """Return a scheduler with blocks of four tokens."""
    return Scheduler(EngineLimits(blocks, 4, batched, sequences))


def sizes(engine: Scheduler) -> list[int]:
    """Run one step and return the tokens of its chunks."""
    batch = engine.schedule(0.0)
    engine.complete(batch, 1.0)
    return [chunk for _, chunk in batch.chunks]


def test_long_prompts_are_split_and_decodes_go_first() -> None:
    engine = scheduler(batched=10)
    engine.waiting.extend([live("a", 6, 3), live("b", 14, 2)])
    assert [sizes(engine) for _ in range(4)] == [[6, 4], [1, 9], [1, 1], [1]]


def test_the_load_of_a_step() -> None:
    engine = scheduler(batched=10)
    engine.waiting.extend([live("a", 6, 3), live("b", 14, 2)])
    first, second = engine.schedule(0.0), None
    engine.complete(first, 1.0)
    second = engine.schedule(1.0)
    assert (first.load().tokens, first.load().decodes) == (10, 0)
    assert first.load().prefill_work == 6 * 3 + 4 * 2
    assert (second.load().decodes, second.load().decode_context) == (1, 6)
    assert second.load().prefill_work == 9 * (4 + 4.5)


def test_a_full_batch_makes_the_rest_wait() -> None:
    engine = scheduler(sequences=2)
    engine.waiting.extend(live(name, 4, 2) for name in "abc")
    assert sizes(engine) == [4, 4]
    assert len(engine.waiting) == 1


def test_the_last_token_is_computed_again() -> None:
    engine = scheduler()
    engine.waiting.append(live("a", 8))
    assert sizes(engine) == [8]
    engine.waiting.append(live("a", 8))
    assert sizes(engine) == [4]
    assert (engine.counters.queries, engine.counters.hits) == (16, 4)


def test_generated_tokens_are_cached_but_for_the_last() -> None:
    engine = scheduler()
    engine.waiting.append(live("a", 6, 6))
    for _ in range(6):
        sizes(engine)
    longer = live("a", 20)
    engine.waiting.append(longer)
    sizes(engine)
    assert longer.cached_tokens == 8


def test_a_prompt_that_does_not_fit_waits_and_so_does_who_comes_later() -> None:
    engine = scheduler(blocks=4)
    engine.waiting.extend([live("a", 8, 2), live("b", 12), live("c", 4)])
    assert sizes(engine) == [8]
    assert [waiting.request.prompt_tokens for waiting in engine.waiting] == [12, 4]
    assert sizes(engine) == [1]
    assert sizes(engine) == [12, 4]


def test_without_a_block_the_last_admitted_is_preempted_and_resumes_first() -> None:
    engine = scheduler(blocks=4)
    first, second, third = live("a", 8, 4), live("b", 8, 2), live("c", 4)
    engine.waiting.extend([first, second, third])
    assert sizes(engine) == [8, 8]
    assert sizes(engine) == [1]
    assert second.preemptions == engine.counters.preemptions == 1
    assert list(engine.waiting) == [second, third]
    assert [sizes(engine), sizes(engine)] == [[1], [1]]
    # Its first block has not been overwritten; its eight prompt tokens and the one generated are known.
    assert sizes(engine) == [5, 4]
    assert (engine.counters.queries, second.cached_tokens) == (20, 0)


def test_an_aborted_request_gives_back_its_blocks() -> None:
    engine = scheduler(blocks=4)
    running, waiting = live("a", 8), live("b", 16)
    engine.waiting.extend([running, waiting])
    batch = engine.schedule(0.0)
    for one in (running, waiting):
        engine.remove(one)
    assert (engine.pool.idle, len(engine.waiting), engine.running) == (4, 0, [])
    assert batch.chunks == [(running, 8)]
