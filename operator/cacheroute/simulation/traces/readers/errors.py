"""What is wrong with a trace."""

from cacheroute.simulation.errors import SimulationError


class TraceFileError(SimulationError):
    """A file that cannot be used: the message names the file, the row where there is one, and the column."""
