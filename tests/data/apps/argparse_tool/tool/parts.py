import argparse


def common():
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--config")
    return shared


def add_users(commands):
    users = commands.add_parser("users")
    inner = users.add_subparsers()
    show = inner.add_parser("show", parents=[common()])
    show.add_argument("-a", "--all", action="store_true")
