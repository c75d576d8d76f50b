"""Which options and commands are read from a program; nothing of it runs."""

from pathlib import Path

import pytest

from surefoot.preflight import Code, check_parity, take_inventory


def read(root: Path, **files: str) -> dict[str, set[str]]:
    """The options of each command of the program `tool`, which is `main` of the file `cli`."""
    script = '[project.scripts]\ntool = "cli:main"\n'
    for name, text in {
        "pyproject.toml": script,
        **{f"{n}.py": t for n, t in files.items()},
    }.items():
        (root / name).write_text(text)
    code = Code(root, [f"{name}.py" for name in files])
    return {" ".join(c.words): set(c.options) for c in take_inventory(code).commands}


@pytest.mark.parametrize(
    "settings",
    ['{"help_option_names": ["-h", "--help"]}', 'dict(help_option_names=["-h", "--help"])', "SET"],
)
def test_click_asks_for_help_by_other_names(tmp_path: Path, settings: str) -> None:
    """The names of a group hold for all below it."""
    text = f"""
import click
SET = {{"help_option_names": ["-h", "--help"], "max_content_width": 120}}
@click.group(context_settings={settings})
def main(): ...
@main.command()
def one(): ...
@main.command(context_settings={{"help_option_names": ["--info"]}})
def two(): ...
"""
    assert read(tmp_path, cli=text) == {
        "tool": {"-h", "--help"},
        "tool one": {"-h", "--help"},
        "tool two": {"--info"},
    }


def test_typer_asks_for_help_by_other_names(tmp_path: Path) -> None:
    """An application's names hold for its commands, a command's for itself."""
    text = """
import typer
main = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
@main.command()
def one(): ...
@main.command(context_settings={"help_option_names": ["--info"]})
def two(): ...
"""
    assert read(tmp_path, cli=text) == {
        "tool": {"-h", "--help"},
        "tool one": {"-h", "--help"},
        "tool two": {"--info"},
    }


def test_options_that_a_decorator_of_the_project_puts_on(tmp_path: Path) -> None:
    """Those on the wrapper that it makes, and those that it is given in a list or one by one."""
    text = """
import functools
import click
SHARED = [click.option("--one"), click.option("--two")]
def common(function):
    @click.option("--verbose", is_flag=True)
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper
def add(options):
    def put(function):
        for option in reversed(options):
            function = option(function)
        return function
    return put
def each(*options):
    return add(options)
@click.command()
@common
@add(SHARED)
@each(click.option("--three"), click.option("--four"))
def main(**kwargs): ...
"""
    found = {"--help", "--verbose", "--one", "--two", "--three", "--four"}
    assert read(tmp_path, cli=text) == {"tool": found}


def test_typer_applications_without_a_name_are_one(tmp_path: Path) -> None:
    """Whatever the order of the files, and through one another; an outer application of one command is still a group."""
    outer = """
import typer
from users import users
main = typer.Typer(add_completion=False)
main.add_typer(users)
"""
    users = """
import typer
from more import more
users = typer.Typer()
@users.command()
def create(name: str): ...
users.add_typer(more)
"""
    more = "import typer\nmore = typer.Typer()\n@more.command()\ndef drop(): ...\n"
    found = {"tool": {"--help"}, "tool create": {"--help"}, "tool drop": {"--help"}}
    assert read(tmp_path, cli=outer, users=users, more=more) == found


def test_a_flag_of_typer_that_may_be_neither(tmp_path: Path) -> None:
    """`bool | None` has two names as `bool` does; what is no flag has one."""
    text = """
import typer
from typing import Annotated, Optional
main = typer.Typer(add_completion=False)
@main.command()
def one(
    a: bool | None = None,
    b: Optional[bool] = None,
    c: Annotated[None | bool, typer.Option()] = None,
    d: Optional[int] = None,
): ...
"""
    found = {"--help", "--a", "--no-a", "--b", "--no-b", "--c", "--no-c", "--d"}
    assert read(tmp_path, cli=text) == {"tool": found}


def test_a_subcommand_whose_name_is_computed_is_no_program(tmp_path: Path) -> None:
    """Its options are not those of the file that makes it, and not those of its console script."""
    text = """
import argparse, os
def register(sub):
    sub.add_parser(os.environ["NAME"]).add_argument("--force")
def build():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="version")
    register(parser.add_subparsers())
    return parser
def main():
    build().parse_args()
if __name__ == "__main__":
    main()
"""
    assert read(tmp_path, cli=text) == {"tool": {"-h", "--help", "--version"}}
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "run.py").write_text(text)
    found = take_inventory(Code(tmp_path / "alone", ["run.py"])).commands
    options = {"-h", "--help", "--version"}
    assert {c.told: set(c.options) for c in found} == {"run.py": options, "-m run": options}


@pytest.mark.parametrize("told", ["tool {one|two} --x", "tool (one|two)", "tool [one|two]"])
def test_a_choice_of_commands_is_no_command(tmp_path: Path, told: str) -> None:
    """As a line of usage shows it."""
    (tmp_path / "pyproject.toml").write_text('[project.scripts]\ntool = "cli:main"\n')
    text = "import click\n@click.group()\ndef main(): ...\n@main.command()\ndef one(): ...\n"
    (tmp_path / "cli.py").write_text(text)
    found = check_parity("a.md", f"`{told}`", take_inventory(Code(tmp_path, ["cli.py"])))
    assert found.claims
    assert found.problems == ()
