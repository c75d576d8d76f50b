"""The other side of `tests.commands`: a process that has imported Surefoot, and forks one for each command.

It runs by its path, with the number of a socket. A message is a command, with its three streams; the answers are the
process that does it, and how that ended.
"""

import gc
import json
import os
import runpy
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

MOST: int = 100_000
"""Bytes of a message."""


def serve(orders: socket.socket) -> dict[str, object] | None:
    """Fork for each order; the order in the process that is to do it, None where no more come."""
    while True:
        data, streams, _, _ = socket.recv_fds(orders, MOST, 3)
        if not data:
            return None
        child = os.fork()
        if child == 0:
            orders.close()
            _take_over(streams)
            order: dict[str, object] = json.loads(data)
            return order
        for stream in streams:
            os.close(stream)
        orders.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        orders.send(str(os.waitstatus_to_exitcode(status)).encode())


def _take_over(streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


def main() -> None:
    """As `python -m surefoot`, in the folder and the environment of the order."""
    # `surefoot.cli.main` does so, too, before anything is imported that asks for it.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    import surefoot.explain  # noqa: PLC0415  # what most commands need
    import surefoot.planrun  # noqa: PLC0415
    import surefoot.verify  # noqa: F401, PLC0415

    gc.freeze()
    order = serve(socket.socket(fileno=int(sys.argv[1])))
    if order is None:
        return
    os.chdir(str(order["cwd"]))
    os.environ.clear()
    os.environ.update(order["env"])  # type: ignore[call-overload]
    sys.path[0] = str(Path.cwd())
    sys.argv = ["surefoot", *order["args"]]  # type: ignore[misc]
    runpy.run_module("surefoot", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
