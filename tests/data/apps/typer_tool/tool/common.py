import functools
from typing import Annotated

import typer

RepoOption = Annotated[str, typer.Option("--repo", help="where")]


def bounded(body):
    @functools.wraps(body)
    def inner(*args, **kwargs):
        return body(*args, **kwargs)

    return inner
