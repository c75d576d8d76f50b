"""How text reaches a person's screen: what is printed is often an issue's, a file's or a model's words (SPEC F7)."""

import sys

import typer


def printable(text: str) -> str:
    """Text in which nothing moves the cursor, hides or turns around: who approves a diff has to see all of it."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """The same as one line: a name with a line break in it must not look like a line of ours."""
    return printable(text).replace("\n", " ").replace("\t", " ")


def print_line(text: str, *, err: bool = False) -> None:
    """One line of a list or a table, or a sentence."""
    typer.echo(one_line(text), err=err)


def print_text(text: str, *, err: bool = False) -> None:
    """Text of several lines."""
    typer.echo(printable(text), err=err)


def print_patch(patch: str) -> None:
    """A patch as it is, because `git apply` reads it; at a terminal, where a person does, nothing hides in it."""
    # Not by `echo`, which takes what looks like a colour out of what it writes to a pipe.
    sys.stdout.write(printable(patch) if sys.stdout.isatty() else patch)
    sys.stdout.flush()
