"""The command line: typer commands that read options, call the layers below and print."""
