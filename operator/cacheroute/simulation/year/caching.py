"""Figure 16: eviction algorithms over sizes of one cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cacheroute.simulation.experiments.ladder import mean
from cacheroute.simulation.paper.agreement import agreement
from cacheroute.simulation.paper.ladder_study import with_interval
from cacheroute.simulation.paper.study import Agreement, Curves, Section
from cacheroute.simulation.replay.eviction import Algorithm
from cacheroute.simulation.year.published import eviction
from cacheroute.simulation.year.run import OneCache, Values
from cacheroute.simulation.year.study import MADE, REQUESTS, SEEDS
from cacheroute.simulation.year.workload import Workload

TITLES = {
    Algorithm.FIFO: "FIFO",
    Algorithm.LRU: "LRU",
    Algorithm.ARC: "ARC",
    Algorithm.S3_FIFO: "S3-FIFO",
    Algorithm.GDSF: "GDSF",
    Algorithm.LHD: "LHD",
    Algorithm.SIEVE: "Sieve",
    Algorithm.BELADY: "Belady",
}
_PUBLISHED = {Algorithm.FIFO: "FIFO", Algorithm.LRU: "LRU", Algorithm.BELADY: "BeladySize"}
_REAL = tuple(one for one in Algorithm if one is not Algorithm.BELADY)
_COMPLEX = tuple(one for one in _REAL if one not in (Algorithm.FIFO, Algorithm.LRU))
_POINT = 0.01
Hits = Mapping[Algorithm, Sequence[float]]


@dataclass(frozen=True, slots=True)
class CachingStudy:
    """One half of the figure; see ``study.TraceStudy``."""

    workload: Workload
    requests: int = REQUESTS
    seeds: int = SEEDS

    @property
    def name(self) -> str:
        """Figure and model."""
        return f"F16 {self.workload.title}"

    @property
    def title(self) -> str:
        """For people."""
        return f"eviction in one cache, {self.workload.title}"

    @property
    def about(self) -> str:
        """What is replayed."""
        return (
            f"Figure 16 of A Year in LLM Serving (arXiv 2608.13573). {MADE} A session is one object, as large as its prompt. Hit is what that paper "
            "counts: tokens of the prompts whose session is found. Published are FIFO, LRU and Belady at some sizes, beside ours as (paper); of the others only words. "
            "libCacheSim counts a session as large as it was when it came in, so a small cache holds more of growing sessions than it could: GDSF and Belady gain most by that."
        )

    @property
    def sizes(self) -> list[int]:
        """The published sizes, tokens."""
        return sorted({size for _, size in eviction(self.workload.model)})

    def replays(self) -> list[OneCache]:
        """Return all algorithms at all sizes, by seed, algorithm and size."""
        return [
            OneCache(self.workload, self.requests, seed, one, size)
            for seed in range(self.seeds)
            for one in Algorithm
            for size in self.sizes
        ]

    def told(self, values: Sequence[Values]) -> Section:
        """Return the section."""
        runs = {one: self._of(values, one, "object_tokens") for one in Algorithm}
        asked = {one: self._of(values, one, "request_hit") for one in Algorithm}
        hits = {one: [mean(seeds).value for seeds in found] for one, found in runs.items()}
        rows = [
            [
                f"{size:,}",
                *(self._cell(one, size, runs[one][at]) for one in Algorithm),
                with_interval(mean([100 * hit for hit in asked[Algorithm.LRU][at]]), 1)
                + self._paper(Algorithm.LRU, size, 0),
            ]
            for at, size in enumerate(self.sizes)
        ]
        return Section(
            ["cache, tokens", *(f"{TITLES[one]} %" for one in Algorithm), "LRU: requests that hit %"],
            rows,
            [self._simple(hits), self._arc(hits), self._bound(hits), self._numbers(hits)],
            self._agreement(hits),
            [self._curves(hits)],
            {TITLES[one]: dict(zip(map(str, self.sizes), found, strict=True)) for one, found in hits.items()},
        )

    def _of(self, values: Sequence[Values], one: Algorithm, field: str) -> list[list[float]]:
        """Return a figure by size and seed."""
        width, algorithms = len(self.sizes), len(Algorithm)
        begin = list(Algorithm).index(one) * width
        return [
            [values[seed * algorithms * width + begin + at][field] for seed in range(self.seeds)]
            for at in range(width)
        ]

    def _cell(self, one: Algorithm, size: int, seeds: Sequence[float]) -> str:
        return with_interval(mean([100 * hit for hit in seeds]), 1) + self._paper(one, size, 1)

    def _paper(self, one: Algorithm, size: int, which: int) -> str:
        found = eviction(self.workload.model).get((_PUBLISHED.get(one, ""), size))
        return f" ({100 * found[which]:.1f})" if found else ""

    def _agreement(self, hits: Hits) -> Agreement:
        found = Agreement()
        for at, size in enumerate(self.sizes):
            papers = {
                one.value: known[1]
                for one, name in _PUBLISHED.items()
                if (known := eviction(self.workload.model).get((name, size)))
            }
            ours = {one.value: hits[one][at] for one in _PUBLISHED}
            titles = {one.value: title for one, title in TITLES.items()}
            found += agreement(f"hit at {size:,} tokens", ours, papers, titles)
        return found

    def _simple(self, hits: Hits) -> str:
        """Judge: simple algorithms often match or exceed the others."""
        best = [max(hits[Algorithm.FIFO][at], hits[Algorithm.LRU][at]) for at in range(len(self.sizes))]
        others = [max(hits[one][at] for one in _COMPLEX) for at in range(len(self.sizes))]
        kept = sum(simple >= other - _POINT for simple, other in zip(best, others, strict=True))
        gap = max(other - simple for simple, other in zip(best, others, strict=True))
        verdict = "**Agrees**" if 2 * kept >= len(best) else "**Disagrees**"
        return (
            f"{verdict} with “LRU and FIFO often match or exceed more complex algorithms”: at {kept} of {len(best)} sizes the better of the two is at "
            f"most a point below the best other one (largest gap {100 * gap:.1f} points)."
        )

    def _arc(self, hits: Hits) -> str:
        """Judge: ARC is substantially worse than LRU at intermediate sizes."""
        less = [lru - arc for lru, arc in zip(hits[Algorithm.LRU], hits[Algorithm.ARC], strict=True)]
        worst = max(range(len(less)), key=lambda at: less[at])
        verdict = "**Agrees**" if less[worst] > _POINT else "**Disagrees**"
        return (
            f"{verdict} with “ARC performs substantially worse than LRU at intermediate sizes”: at most {100 * less[worst]:.1f} points below it, at "
            f"{self.sizes[worst]:,} tokens."
        )

    def _bound(self, hits: Hits) -> str:
        """Judge: how far the best real algorithm stays below Belady."""
        gaps = [
            hits[Algorithm.BELADY][at] - max(hits[one][at] for one in _REAL) for at in range(len(self.sizes))
        ]
        told = ", ".join(f"{100 * gap:.1f}" for gap in gaps)
        return (
            f"The best algorithm that does not know the future stays below Belady by {told} points, from the smallest size to the largest (the paper: MiniMax-M2.5 comes close "
            "at moderate sizes, DeepSeek V3.2 keeps a gap even at large ones)."
        )

    def _numbers(self, hits: Hits) -> str:
        apart = {
            one: [
                abs(hits[one][at] - known[1])
                for at, size in enumerate(self.sizes)
                if (known := eviction(self.workload.model).get((name, size)))
            ]
            for one, name in _PUBLISHED.items()
        }
        told = ", ".join(
            f"{TITLES[one]} {100 * sum(gaps) / len(gaps):.1f} (most {100 * max(gaps):.1f})"
            for one, gaps in apart.items()
            if gaps
        )
        return f"Mean distance to the published token hits, points: {told}. LRU's requests that hit are fitted; tokens, and the others, are not."

    def _curves(self, hits: Hits) -> Curves:
        curves = {
            TITLES[one]: [(size, 100 * hit) for size, hit in zip(self.sizes, found, strict=True)]
            for one, found in hits.items()
        }
        for one, name in _PUBLISHED.items():
            points = [
                (size, 100 * known[1])
                for (policy, size), known in sorted(eviction(self.workload.model).items())
                if policy == name
            ]
            if points:
                curves[f"{TITLES[one]}, paper"] = points
        return Curves(self.title, "cache, tokens", "token hit, %", curves, across_logarithmic=True)
