"""Prints a framework's own tree of commands as JSON: `python dump_commands.py KIND`, run in the tool's folder."""

import argparse
import json
import sys


def of_click(command, words):
    options = {"--help"}
    for param in command.params:
        if param.param_type_name == "option":
            options |= {*param.opts, *param.secondary_opts}
    yield words, sorted(options)
    for name, inner in getattr(command, "commands", {}).items():
        yield from of_click(inner, [*words, name])


def of_argparse(parser, words):
    yield words, sorted(option for action in parser._actions for option in action.option_strings)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from of_argparse(inner, [*words, name])


def main():
    sys.path.insert(0, "")
    from tool import main as tool

    kind = sys.argv[1]
    if kind == "click":
        found = of_click(tool.cli, ["tool"])
    elif kind == "typer":
        import typer

        found = of_click(typer.main.get_command(tool.app), ["tool"])
    else:
        found = of_argparse(tool.parser(), ["tool"])
    print(json.dumps(sorted(found)))


main()
