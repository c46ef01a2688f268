"""What destinations were given in the last minutes: the load of policy Preble."""

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.routing.view import Memory, Request, View

WINDOW_SECONDS = 180.0
WEIGHT = 0.02
"""Of the newest request in the share of prompts that a destination finds in its cache."""


@compiled
def remember(memory: Memory, view: View, request: Request, r: int) -> None:
    """Add the expected work of a request to its destination's load, and take out what is older than the window."""
    history = memory.history
    rows = history.time.size
    while history.span[0] < history.span[1]:
        old = history.span[0] % rows
        if history.time[old] > request.time - WINDOW_SECONDS and history.span[1] - history.span[0] < rows:
            break
        memory.load[history.at[old]] -= history.cost[old]
        history.span[0] += 1
    missing = request.prompt - view.match[r]
    cost = missing * memory.costs.prompt_token + memory.answers[0] * memory.costs.output_token
    new = history.span[1] % rows
    history.time[new], history.at[new], history.cost[new] = request.time, r, cost
    history.span[1] += 1
    memory.load[r] += cost
    memory.reuse[r] += WEIGHT * (view.match[r] / request.prompt - memory.reuse[r])
    memory.answers[0] += WEIGHT * (request.output - memory.answers[0])
