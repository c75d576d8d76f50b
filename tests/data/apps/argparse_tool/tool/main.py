import argparse

from tool.parts import add_users, common


def parser():
    made = argparse.ArgumentParser(prog="tool", parents=[common()])
    made.add_argument("-q", "--quiet", action="store_true")
    commands = made.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", aliases=["b"])
    build.add_argument("target")
    group = build.add_argument_group("speed")
    exclusive = group.add_mutually_exclusive_group()
    exclusive.add_argument("--fast", action="store_true")
    exclusive.add_argument("--cache", action=argparse.BooleanOptionalAction)
    for name in ("start", "stop"):
        one = commands.add_parser(name)
        one.add_argument("--now")
    add_users(commands)
    return made


def main():
    parser().parse_args()
