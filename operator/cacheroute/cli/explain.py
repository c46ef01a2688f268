"""`cacheroute explain`."""

from typing import Annotated

import typer

from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.output import Format, Output


def explain(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key, as requests carry it.")],
    plan: Annotated[str, typer.Option("--plan", "-p", metavar="PLAN", help="The plan: a file, or - .")],
    output: Format = Output.TABLE,
) -> None:
    """Explain one key: where its requests go, why, and who serves it when a destination dies.

    The plan is a file that `cacheroute plan --save` wrote, that standalone mode keeps in its state folder, or that
    `kubectl cacheroute plan NAME -o json` printed. Of a key that is not planned it says what that would take.

    Exit code: 0, planned or not; 2 where the key or the file cannot be used.
    """
    from cacheroute.cli.explanation_view import print_explanation
    from cacheroute.cli.plan_file import read_plan_file
    from cacheroute.controllers.file_world import InputFileError
    from cacheroute.domain.errors import DomainError
    from cacheroute.domain.explanation import explain as explained
    from cacheroute.domain.explanation import plannable

    try:
        plannable(key)
        found = explained(read_plan_file(plan), key)
    except (InputFileError, DomainError) as error:
        fail(str(error), USAGE)
    print_explanation(found, output)
