"""Continuous batching as vLLM does it: running requests first, then first come, first served."""

from collections import deque
from dataclasses import dataclass, field

from cacheroute.simulation.engine_model.blocks import BlockPool
from cacheroute.simulation.engine_model.requests import LiveRequest
from cacheroute.simulation.engine_model.step_time import StepLoad


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """Sizes of an engine; the defaults are vLLM's on an H100."""

    blocks: int
    """KV blocks that requests can use."""
    block_size: int = 16
    """Tokens in a block."""
    batched_tokens: int = 8192
    """Most tokens in one step."""
    sequences: int = 1024
    """Most requests that run at once."""

    @property
    def tokens(self) -> int:
        """Tokens that the KV cache holds: no request can be longer."""
        return self.blocks * self.block_size


@dataclass(slots=True)
class CacheCounters:
    """Totals of the prefix cache and the scheduler since the start."""

    queries: int = 0
    """Prompt tokens looked up, once per request."""
    hits: int = 0
    """Prompt tokens found."""
    preemptions: int = 0


@dataclass(slots=True)
class Batch:
    """The work of one step."""

    budget: int
    """Tokens that may still be added."""
    chunks: list[tuple[LiveRequest, int]] = field(default_factory=list)
    """Each request with the tokens that it computes."""
    decodes: int = 0
    decode_context: int = 0
    prefill_work: float = 0.0
    tokens: int = 0

    def add(self, live: LiveRequest, chunk: int) -> None:
        """Add a request's tokens."""
        self.chunks.append((live, chunk))
        self.budget -= chunk
        self.tokens += chunk
        if chunk == 1 and live.computed >= live.request.prompt_tokens:
            self.decodes += 1
            self.decode_context += live.computed
        else:
            self.prefill_work += chunk * (live.computed + chunk / 2)

    def load(self) -> StepLoad:
        """Return what the step time depends on."""
        return StepLoad(self.tokens, self.decodes, self.decode_context, self.prefill_work)


class Scheduler:
    """Chooses what each step computes.

    A request is admitted when its whole prompt fits into the idle blocks, though blocks are taken chunk by chunk;
    it waits otherwise, and those behind it with it. When a running request finds no block, the request that was
    admitted last gives up all its blocks and goes back to the head of the queue; it computes its tokens again later,
    as far as the prefix cache has lost them. (A step that preempts admits nobody: the head of the queue has just given
    up fewer blocks than it needs.)
    """

    def __init__(self, limits: EngineLimits) -> None:
        self._limits = limits
        self.pool = BlockPool(limits.blocks)
        self.waiting: deque[LiveRequest] = deque()
        self.running: list[LiveRequest] = []
        self.counters = CacheCounters()

    def remove(self, live: LiveRequest) -> None:
        """Forget a request that waits or runs; what it computed stays cached."""
        if live in self.running:
            self.running.remove(live)
            self._release(live)
        elif live in self.waiting:
            self.waiting.remove(live)

    def schedule(self, now: float) -> Batch:
        """Choose the next step and take the blocks it needs; the batch is empty when there is nothing to do."""
        batch = Batch(self._limits.batched_tokens)
        self._continue_running(batch)
        self._admit(batch, now)
        return batch

    def complete(self, batch: Batch, now: float) -> list[LiveRequest]:
        """Account for a step that has ended; returns the requests that got one more token, the exhausted ones too."""
        emitted = []
        for live, chunk in batch.chunks:
            if live.finish_reason is not None:  # aborted while the step ran
                continue
            live.computed += chunk
            if live.computed == live.known:
                live.generated += 1
                live.token_before, live.last_token = live.last_token, now
                emitted.append(live)
                if live.generated == 1:
                    live.first_token = now
        if any(live.exhausted for live in emitted):
            self._retire()
        return emitted

    def _retire(self) -> None:
        for live in self.running:
            if live.exhausted:
                self._release(live)
        self.running = [live for live in self.running if not live.exhausted]

    def _release(self, live: LiveRequest) -> None:
        self.pool.release(live.blocks)
        live.blocks = []

    def _continue_running(self, batch: Batch) -> None:
        position = 0
        while position < len(self.running) and batch.budget:
            live = self.running[position]
            chunk = min(live.known - live.computed, batch.budget)
            if not self._make_room(live, chunk):
                break
            self._grow(live, chunk)
            batch.add(live, chunk)
            position += 1

    def _make_room(self, live: LiveRequest, chunk: int) -> bool:
        needed = self._blocks_for(live.computed + chunk) - len(live.blocks)
        while needed > self.pool.idle:
            victim = self.running.pop()
            self._preempt(victim)
            if victim is live:
                return False
        return True

    def _preempt(self, live: LiveRequest) -> None:
        self._release(live)
        live.computed = 0
        live.preemptions += 1
        self.counters.preemptions += 1
        self.waiting.appendleft(live)

    def _admit(self, batch: Batch, now: float) -> None:
        while self.waiting and batch.budget and len(self.running) < self._limits.sequences:
            live = self.waiting[0]
            # At least one token is computed, or there would be nothing to sample from.
            matched = self.pool.match(live.request.block_hashes, (live.known - 1) // self._limits.block_size)
            if not self.pool.fits(matched, self._blocks_for(live.known) - len(matched)):
                return
            self.waiting.popleft()
            self._start(live, matched, now)
            chunk = min(live.known - live.computed, batch.budget)
            self._grow(live, chunk)
            batch.add(live, chunk)

    def _start(self, live: LiveRequest, matched: list[int], now: float) -> None:
        self.pool.hold(matched)
        live.blocks = matched
        live.computed = len(matched) * self._limits.block_size
        self.running.append(live)
        if not live.preemptions:
            live.scheduled = now
            live.cached_tokens = live.computed
            self.counters.queries += live.request.prompt_tokens
            self.counters.hits += live.computed

    def _grow(self, live: LiveRequest, chunk: int) -> None:
        """Take the blocks for a chunk; those that it fills can be found from now on, as in vLLM."""
        after = live.computed + chunk
        missing = self._blocks_for(after) - len(live.blocks)
        if missing > 0:
            live.blocks += self.pool.allocate(missing)
        size = self._limits.block_size
        for position in range(live.computed // size, after // size):
            self.pool.seal(live.blocks[position], live.request.block_hashes[position])

    def _blocks_for(self, tokens: int) -> int:
        return -(-tokens // self._limits.block_size)
