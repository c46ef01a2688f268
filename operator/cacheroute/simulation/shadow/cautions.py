"""What a replay takes for granted, and where it has too little to answer by: told beside its verdict."""

import numpy as np

from cacheroute.simulation.shadow.replay import Answer
from cacheroute.simulation.traces.blocks import Sharing
from cacheroute.simulation.traces.trace import UNKNOWN, Trace

FEW = 1000
"""Requests below which a comparison is too uncertain to decide by, as in the status of a Canary."""
_FAR = 5.0
"""Points between the hit that engines told and the simulated one that are worth a word."""
_PLANNERS = ("stable", "cacheroute")
_BY_KEY = (*_PLANNERS, "sticky", "chwbl")
_NO_EFFECT = "The file says what prompts consist of: --template-tokens and --prefix-tokens had no effect."
_RECONSTRUCTED = (
    "The file names no sessions: they were guessed from lengths of prompts and answers, which finds more to share than "
    "there may be; name the field by --field session=NAME."
)
_NOTHING = (
    "Nothing says what prompts have in common, so they share nothing: name sessions by --field session=NAME, or give "
    "--template-tokens and --prefix-tokens (without --eviction)."
)


def cautions(trace: Trace, sharing: Sharing, answer: Answer) -> tuple[str, ...]:
    """Return what a reader of the verdict has to know, a sentence each; most often none.

    Args:
        trace: what was replayed.
        sharing: what its prompts were given in common.
        answer: of the replay.
    """
    found = (*_of_length(trace, answer), *of_sharing(trace, sharing), *_of_hits(trace, answer))
    if answer.question.policy in _BY_KEY and not (trace.key != UNKNOWN).any():
        return ("No request has a key, so none is planned: name the field by --field key=NAME.", *found)
    return found


def of_sharing(trace: Trace, sharing: Sharing) -> tuple[str, ...]:
    """Return what is doubtful about what prompts have in common.

    Args:
        trace: requests.
        sharing: what its prompts were given in common.
    """
    if trace.blocks is not None:
        return (_NO_EFFECT,) if sharing.template or sharing.prefix else ()
    if trace.reconstructed:
        return (_RECONSTRUCTED,)
    if not (sharing.template or sharing.prefix or (trace.session != UNKNOWN).any()):
        return (_NOTHING,)
    return ()


def _of_length(trace: Trace, answer: Answer) -> tuple[str, ...]:
    interval = answer.question.interval_seconds
    found = []
    if answer.question.policy in _PLANNERS and trace.seconds <= interval:
        found.append(
            f"The trace lasts {trace.seconds:.0f} s and no longer than --interval {interval:g}: no plan was made."
        )
    if trace.size < FEW:
        found.append(f"{trace.size:,} requests are too few to decide by; take a longer part of the traffic.")
    return tuple(found)


def _of_hits(trace: Trace, answer: Answer) -> tuple[str, ...]:
    """Return how far off the simulated hit is from that which engines told, where they told it."""
    told = trace.cached != UNKNOWN
    if not told.any():
        return ()
    measured = 100.0 * float(np.sum(trace.cached[told])) / float(np.sum(trace.prompt[told]))
    simulated = 100.0 * answer.flat.figures.token_hit
    if abs(measured - simulated) <= _FAR:
        return ()
    sentence = (
        f"The engines of the trace told a hit of {measured:.1f} %, flat routing has {simulated:.1f} % here: what prompts "
        "share, or the fleet, is not as it was, unless they were not routed flat."
    )
    return (sentence,)
