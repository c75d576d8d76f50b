"""Runs inside the sandbox, alone and without this project: reads an order, prints a marked line a solution.

Each solution gets a forked child that reports over a pipe which the solution does not know of; each check gets a
namespace of its own and a limit of processor time.
"""

import ast
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Any


class OutOfTimeError(BaseException):
    """The check used up its processor time; not an Exception, so that solutions seldom catch it."""


def stop(_signal: int, _frame: object) -> None:
    """The timer's signal."""
    raise OutOfTimeError


def short(value: object) -> str:
    """`repr`, at most 300 characters."""
    text = repr(value)
    return text if len(text) <= 300 else text[:297] + "..."


def call_of(check: ast.Assert, entry: str) -> ast.expr | None:
    """The expression whose value a person would look at: the left of an equality, else the call itself."""
    test = check.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        return test.left
    for node in ast.walk(check.test):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == entry:
            return node
    return None


def value(node: ast.expr, space: dict[str, Any]) -> object:
    """What an expression gives."""
    return eval(compile(ast.Expression(node), "check", "eval"), space)


def judge(solution: str, entry: str, check: dict[str, str]) -> dict[str, object]:
    """What one check says of one solution."""
    verdict: dict[str, object] = {
        "passed": False, "got": "", "expected": "", "returned": False, "timed_out": False
    }  # fmt: skip
    space: dict[str, Any] = {"__name__": "solution"}
    try:
        exec(compile(solution, "solution.py", "exec"), space)
        exec(check["setup"], space)
        statement = ast.parse(check["source"]).body[0]
        assert isinstance(statement, ast.Assert)
        node = call_of(statement, entry)
        if isinstance(statement.test, ast.Compare) and node is statement.test.left:
            with suppress(Exception):
                verdict["expected"] = short(value(statement.test.comparators[0], space))
        if node is not None:
            verdict["got"] = short(value(node, space))
            verdict["returned"] = True
        fresh: dict[str, Any] = {"__name__": "solution"}
        exec(compile(solution, "solution.py", "exec"), fresh)
        exec(check["setup"], fresh)
        exec(compile(check["source"], "check", "exec"), fresh)
        verdict["passed"] = True
    except OutOfTimeError:
        verdict["timed_out"] = True
    except AssertionError:
        pass
    except BaseException as error:  # noqa: BLE001  # whatever a solution throws is a failed check
        verdict["got"] = f"raises {type(error).__name__}: {error}"[:300]
    return verdict


def work(order: dict[str, Any], solution: str) -> list[dict[str, object]]:
    """Verdicts of the checks in order, up to the first that does not end: what loops is not asked again."""
    signal.signal(signal.SIGPROF, stop)
    verdicts: list[dict[str, object]] = []
    for check in order["checks"]:
        if verdicts and verdicts[-1]["timed_out"]:
            break
        signal.setitimer(signal.ITIMER_PROF, order["cpu_s"], 0.2)
        try:
            verdicts.append(judge(solution, order["entry"], check))
        finally:
            with suppress(OutOfTimeError):
                signal.setitimer(signal.ITIMER_PROF, 0)
    return verdicts


def child(order: dict[str, Any], solution: str, report: int) -> None:
    """Judge one solution and report; runs in a process of its own that prints nothing."""
    limit = int(order["cpu_s"] * len(order["checks"])) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    answer = json.dumps(work(order, solution)).encode()
    with os.fdopen(report, "wb") as pipe:
        pipe.write(answer)


def main() -> None:
    """One child a solution, one line a child."""
    order = json.load(sys.stdin)
    for number, solution in enumerate(order["solutions"]):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            try:
                child(order, solution, write)
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            said = pipe.read()
        os.waitpid(pid, 0)
        with suppress(ValueError):
            line = json.dumps({"number": number, "verdicts": json.loads(said)})
            print(order["mark"] + line, flush=True)


main()
