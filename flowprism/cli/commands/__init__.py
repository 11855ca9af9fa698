"""Arguments and options of each command, as Typer reads them."""
