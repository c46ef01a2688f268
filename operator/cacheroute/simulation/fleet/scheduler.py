"""Continuous batching of one engine of the fleet, compiled: the same steps as engine_model.scheduler."""

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.fleet.pool import allocate, find, hold, release, seal
from cacheroute.simulation.fleet.state import NONE, Live, Queue, State


@compiled
def push(queue: Queue, live: Live, r: int, i: int) -> None:
    """Add a request at the end."""
    live.following[i] = NONE
    if queue.last[r] == NONE:
        queue.first[r] = i
    else:
        live.following[queue.last[r]] = i
    queue.last[r] = i


@compiled
def push_front(queue: Queue, live: Live, r: int, i: int) -> None:
    """Add a request at the head."""
    live.following[i] = queue.first[r]
    queue.first[r] = i
    if queue.last[r] == NONE:
        queue.last[r] = i


@compiled
def pop(queue: Queue, live: Live, r: int) -> int:
    """Take the request at the head; there must be one."""
    i = int(queue.first[r])
    queue.first[r] = live.following[i]
    if queue.first[r] == NONE:
        queue.last[r] = NONE
    return i


@compiled
def begin_step(state: State, r: int, now: float) -> None:
    """Choose the next step of an engine that computes none; nothing happens where there is nothing to do."""
    engines, timing = state.engines, state.timing
    engines.chunks[r] = 0
    budget = _admit(state, r, _continue_running(state, r, state.limits.tokens))
    if engines.chunks[r] == 0:
        return
    decodes, context, work = 0, 0, 0.0
    for position in range(engines.chunks[r]):
        i, chunk = engines.chunk_of[r, position], engines.chunk[r, position]
        computed = state.live.computed[i]
        if chunk == 1 and computed >= state.work.prompt[i]:
            decodes += 1
            context += computed
        else:
            work += chunk * (computed + chunk / 2)
    tokens = state.limits.tokens - budget
    milliseconds = (
        max(timing.weights_floor, timing.per_token * tokens)
        + timing.extra_per_token * tokens
        + timing.per_decode_context * context
        + timing.per_prefill_work * work
        + timing.fixed
        + timing.per_decode * decodes
    )
    engines.step_ends[r] = now + milliseconds / 1000.0
    engines.steps[r] += 1


@compiled
def _add_chunk(state: State, r: int, i: int, chunk: int) -> None:
    engines = state.engines
    position = engines.chunks[r]
    engines.chunk_of[r, position], engines.chunk[r, position] = i, chunk
    engines.chunks[r] = position + 1


@compiled
def _continue_running(state: State, r: int, budget: int) -> int:
    """Give the running requests their tokens; returns what is left of the budget."""
    engines, live = state.engines, state.live
    position = 0
    while position < engines.runs[r] and budget > 0:
        i = engines.running[r, position]
        known = state.work.prompt[i] + live.generated[i]
        chunk = min(known - live.computed[i], budget)
        if not _make_room(state, r, i, chunk):
            break
        _grow(state, r, i, chunk)
        _add_chunk(state, r, i, chunk)
        budget -= chunk
        position += 1
    return budget


@compiled
def _make_room(state: State, r: int, i: int, chunk: int) -> bool:
    engines, live = state.engines, state.live
    needed = _blocks_for(state, live.computed[i] + chunk) - live.held[i]
    while needed > state.pools.idle[r]:
        engines.runs[r] -= 1
        victim = engines.running[r, engines.runs[r]]
        release_all(state, r, victim)
        live.computed[victim] = 0
        state.done.preemptions[victim] += 1
        push_front(engines.waiting, live, r, victim)
        if victim == i:
            return False
    return True


@compiled
def _admit(state: State, r: int, budget: int) -> int:
    """Start waiting requests whose whole prompt fits; returns what is left of the budget."""
    engines, live, size = state.engines, state.live, state.limits.block
    while engines.waiting.first[r] != NONE and budget > 0 and engines.runs[r] < state.limits.sequences:
        i = int(engines.waiting.first[r])
        known = state.work.prompt[i] + live.generated[i]
        matched = match(state, r, i, (known - 1) // size)
        reserved = _reserved(state, r, i, matched)
        if _blocks_for(state, known) - matched > state.pools.idle[r] - reserved:
            return budget
        pop(engines.waiting, live, r)
        _start(state, r, i, matched)
        chunk = min(known - live.computed[i], budget)
        _grow(state, r, i, chunk)
        _add_chunk(state, r, i, chunk)
        budget -= chunk
    return budget


@compiled
def match(state: State, r: int, i: int, limit: int) -> int:
    """Return how many of a request's first blocks, at most ``limit``, the engine's cache has."""
    start = state.work.first_block[i]
    limit = min(limit, (state.work.prompt[i] + state.work.output[i]) // state.limits.block)
    count = 0
    while count < limit and find(state.pools, r, state.work.contents[start + count]) != NONE:
        count += 1
    return count


@compiled
def _reserved(state: State, r: int, i: int, matched: int) -> int:
    """Return how many of the matched blocks are idle."""
    start, count = state.work.first_block[i], 0
    for position in range(matched):
        block = find(state.pools, r, state.work.contents[start + position])
        count += state.pools.users[r, block] == 0
    return count


@compiled
def _start(state: State, r: int, i: int, matched: int) -> None:
    live, start = state.live, state.work.first_block[i]
    for position in range(matched):
        block = find(state.pools, r, state.work.contents[start + position])
        hold(state.pools, r, block)
        live.blocks[start + position] = block
    live.held[i] = matched
    live.computed[i] = matched * state.limits.block
    if state.done.preemptions[i] == 0:
        state.done.cached[i] = live.computed[i]
    state.engines.running[r, state.engines.runs[r]] = i
    state.engines.runs[r] += 1


@compiled
def _grow(state: State, r: int, i: int, chunk: int) -> None:
    """Take the blocks for a chunk; those that it fills can be found from now on."""
    live, size, start = state.live, state.limits.block, state.work.first_block[i]
    after = live.computed[i] + chunk
    while live.held[i] < _blocks_for(state, after):
        live.blocks[start + live.held[i]] = allocate(state.pools, r)
        live.held[i] += 1
    for position in range(live.computed[i] // size, after // size):
        seal(state.pools, r, live.blocks[start + position], state.work.contents[start + position])


@compiled
def release_all(state: State, r: int, i: int) -> None:
    """Give up the blocks of a request, its tail first."""
    start = state.work.first_block[i]
    for position in range(state.live.held[i] - 1, -1, -1):
        release(state.pools, r, state.live.blocks[start + position])
    state.live.held[i] = 0


@compiled
def _blocks_for(state: State, tokens: int) -> int:
    return -(-tokens // state.limits.block)
