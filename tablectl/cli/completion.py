"""`tablectl completion SHELL`: the script that teaches a shell to complete our commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["completion"]


@click.command(
    epilog='\b\nExample, in ~/.bashrc:\n  eval "$(tablectl completion bash)"\n\n'
    '\b\nIn ~/.zshrc:\n  eval "$(tablectl completion zsh)"\n\n'
    "\b\nOnce, for fish:\n  tablectl completion fish > ~/.config/fish/completions/tablectl.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(ctx.find_root().command, {}, "tablectl", "_TABLECTL_COMPLETE").source())
