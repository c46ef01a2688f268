"""`cacheroute diff`."""

from typing import Annotated

import typer

from cacheroute.cli.errors import FAILURE, USAGE, fail
from cacheroute.cli.output import Format, Output, progress

Limit = Annotated[int, typer.Option(min=0, help="At most so many keys, highest rate first.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="End with 1 where the plans differ.")]


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="The earlier plan: a file, or - .")],
    after: Annotated[str, typer.Argument(metavar="B", help="The later plan: a file, or - .")],
    limit: Limit = 50,
    exit_code: ExitCode = False,
    output: Format = Output.TABLE,
) -> None:
    """Show what moves from plan A to plan B: how many keys, how much of the traffic, and which keys, with the reason.

    Plans are files that `cacheroute plan --save` wrote, that standalone mode keeps in its state folder, or that
    `kubectl cacheroute plan NAME -o json` printed. Destinations compare by name. **rewarm** is the share of the request
    rate that finds a cold cache once; **churn** is 1 - Jaccard of the (key, destination) pairs.

    Exit code: 0, equal or not; with --exit-code 1 where they differ; 2 where a file cannot be used.
    """
    from cacheroute.cli.comparison_view import print_comparison
    from cacheroute.cli.plan_file import STDIN, read_plan_file
    from cacheroute.controllers.file_world import InputFileError
    from cacheroute.domain.comparison import compare

    if before == after == STDIN:
        fail("A and B: only one of them can be standard input", USAGE)
    try:
        with progress("comparing"):
            found = compare(read_plan_file(before), read_plan_file(after))
    except InputFileError as error:
        fail(str(error), USAGE)
    print_comparison(found, output, limit)
    raise typer.Exit(FAILURE if exit_code and found.different else 0)
