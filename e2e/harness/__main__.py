"""Command line: `python -m e2e.harness up|down|status|images|tools` from the top of the checkout."""

import sys
from typing import Annotated

import typer

from e2e.harness import binaries, debian, images, python_packages, runs, stores
from e2e.harness.errors import HarnessError
from e2e.harness.local import LocalCluster

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
Name = Annotated[str, typer.Option(help="Name of the cluster; two at once need two names.")]
Nodes = Annotated[int, typer.Option(help="Number of nodes that run pods.")]


@app.command()
def up(name: Name = "dev", nodes: Nodes = 2) -> None:
    """Start a cluster with all images on it; it stays until `down`."""
    cluster = LocalCluster(name, outlives_us=True)
    cluster.require()
    package = images.cacheroute()
    cluster.create(nodes)
    try:
        cluster.load_images([package])
    except BaseException:
        cluster.delete()
        raise
    status()


@app.command()
def down(name: Name = "dev") -> None:
    """Take a cluster down; nothing of it is left."""
    runs.end(name)


@app.command()
def status() -> None:
    """Say which clusters are up, and how to reach them."""
    for each in runs.living():
        typer.echo(f"{each.name}: {', '.join(each.machines)}")
        typer.echo(f"  export KUBECONFIG={each.kubeconfig}")
        typer.echo(f"  {each.prefix} {binaries.program('kubectl')} get pods --all-namespaces")


@app.command()
def tools() -> None:
    """Build or fetch all programs, and say where they are."""
    debian.require()
    for group in binaries.GROUPS:
        typer.echo(binaries.folder(group))
    typer.echo(python_packages.envoy())


@app.command(name="images")
def images_() -> None:
    """Make all images, and the store each node starts from."""
    debian.require()
    stable = images.stable()
    for image in [*stable, images.cacheroute()]:
        size = sum(layer.path.stat().st_size for layer in image.layers) / 1e6
        typer.echo(f"{image.reference}  {size:.0f} MB")
    typer.echo(stores.seed(stable))


def main() -> None:
    """Run the command line; an error is one message, not a stack."""
    try:
        app()
    except HarnessError as error:
        sys.exit(f"e2e: {error}")


if __name__ == "__main__":
    main()
