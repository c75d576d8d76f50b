"""From a test command, as a person types it, to how it is run so that its report can be read by test id."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from surefoot.errors import SettingsError
from surefoot.plain_files import read_plain
from surefoot.suite import layout
from surefoot.suite.plan import REPORT, CommandPlan
from surefoot.suite.programs import find_program, tool_homes
from surefoot.toml_files import table
from surefoot.values import TestFormat

INSIDE: Final = Path(__file__).parent / "inside"
NODE_PARTS: Final = (INSIDE / "node_reporter.mjs", INSIDE / "node_witness.cjs")
_WRAPPERS: Final = frozenset({"c8", "cross-env", "exec", "npx", "nyc", "pnpm", "yarn"})
"""Programs of a package's script whose work is not needed to run its tests."""
_WRAPPERS_VALUED: Final = frozenset(
    {
        "-e", "-i", "-n", "-o", "-p", "-r", "-t", "-x", "--branches", "--cache-dir", "--config", "--cwd", "--exclude",
        "--extension", "--functions", "--include", "--lines", "--nycrc-path", "--package", "--report-dir", "--reporter",
        "--reports-dir", "--require", "--resolve", "--src", "--statements", "--temp-dir", "--temp-directory",
    }
)  # fmt: skip
"""Options of c8, npx and nyc whose value may be the next word."""
_NODE_OPTIONS: Final = "--disable-wasm-trap-handler"
_MERGED: Final = ("/bin/sh", "-c", 'exec "$@" 2>&1', "sh")
"""Puts standard error into standard output, in order."""
_RUNS: Final = frozenset({("npm", "run"), ("pnpm", "run"), ("yarn", "run")})
_SHELL: Final = frozenset("|;<>`$&")
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VALUED: Final = frozenset(
    {
        "-C", "-r", "--conditions", "--env-file", "--experimental-loader", "--import", "--loader", "--require",
        "--experimental-test-isolation", "--test-concurrency", "--test-isolation", "--test-name-pattern", "--test-reporter", "--test-reporter-destination",
        "--test-skip-pattern", "--test-timeout",
    }
)  # fmt: skip
"""Options of node whose value may be the next word."""
_NODE_DROPPED: Final = (
    "--experimental-test-isolation", "--test-force-exit", "--test-isolation", "--test-only", "--test-reporter",
    "--test-reporter-destination", "--watch",
)  # fmt: skip
"""Ours take their place, or they would run tests in the runner's own process or leave tests out."""
_REPORTS: Final = frozenset(
    {"--outputFile", "--reporter", "--reporter-option", "--reporter-options", "--reporters", "-O", "-R"}
)  # fmt: skip
"""Options of jest, vitest and mocha that take a value."""
_DROPPED: Final[Mapping[str, frozenset[str]]] = {
    "jest": frozenset({"--coverage", "--json", "--silent", "--verbose", "--watch", "--watchAll"}),
    "mocha": frozenset({"--coverage", "--watch", "-w"}),
    "vitest": frozenset({"--coverage", "--watch", "-w"}),
}
"""Options without a value, by runner: jest's `-w` is `--maxWorkers` and has one, as vitest's `--silent` may."""
_VITEST_RUNS: Final = frozenset({"dev", "run", "watch"})
_VITEST_NAMES: Final = frozenset(
    {"--config", "--dir", "--mode", "--project", "--root", "--testNamePattern", "-c", "-r", "-t"}
)
"""Options of vitest whose value may read like one of its commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Script:
    """The words of one command, without assignments before it."""

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


def plan_command(
    root: Path, command: Sequence[str], given: TestFormat | None, environ: Mapping[str, str]
) -> CommandPlan:
    """How `command` is run; `given` is the format of its report, for a program that is not known here.

    Raises:
        SettingsError: The program is missing, or its report cannot be read.
    """
    script = _without_wrappers(tuple(command), {})
    told = script and _known(root, script)
    if told and given in (None, told.form):
        form, argv, targets, narrow, after = told
    elif given is not None and given != "node":
        form, argv, targets, narrow, after = _Told(given, tuple(command), (), None)
    else:
        raise SettingsError(
            f"`[test] command` is {' '.join(command)!r}, whose report cannot be read: {not_installed(root)}name its format, e.g. "
            f'format = "junit" with {REPORT} in the command where the report\'s file is named'
        )
    env = dict(script.env) if script and told else {}
    place = len(_MERGED) if argv[: len(_MERGED)] == _MERGED else 0
    program = find_program(root, argv[place], environ)
    homes, shown = tool_homes(Path(argv[place]).name, environ)
    if form == "node":
        shown = (*shown, *NODE_PARTS)
    if "node" in argv:
        # WebAssembly would reserve more address space than a test process may have.
        env = {**env, "NODE_OPTIONS": f"{_NODE_OPTIONS} {env.get('NODE_OPTIONS', '')}".strip()}
    return CommandPlan(
        command=tuple(command),
        format=form,
        argv=(*argv[:place], program.argv0, *argv[place + 1 :]),
        targets=targets,
        narrow=narrow,
        after=after,
        env={**homes, **env},
        path=program.path,
        reads=(*program.reads, *shown),
        carry=layout.carried(root),
        languages=layout.languages(root),
    )


def not_installed(root: Path) -> str:
    """What to do first in a checkout of a package as it was cloned, whose runner is not there; else empty."""
    if not (root / "package.json").is_file() or (root / "node_modules").is_dir():
        return ""
    return "package.json is there and node_modules is not, so run `npm install` first if it brings the runner of the tests; "


def from_package(root: Path) -> tuple[str, ...] | None:
    """The command of `scripts.test` in package.json, when it runs tests with a runner that is known here."""
    try:
        package = json.loads(read_plain(root / "package.json").decode())
    except (OSError, ValueError, RecursionError):
        return None
    return _from_scripts(root, table(package, "scripts"), "test", frozenset())


def _from_scripts(
    root: Path, scripts: Mapping[str, object], name: str, seen: frozenset[str]
) -> tuple[str, ...] | None:
    text = scripts.get(name)
    if not isinstance(text, str) or name in seen:
        return None
    for part in text.split("&&"):
        try:
            words = tuple(shlex.split(part))
        except ValueError:
            continue
        if _SHELL & set(part):
            continue
        if words[:2] in _RUNS and len(words) > 2:  # noqa: PLR2004  # another script's name follows
            if found := _from_scripts(root, scripts, words[2], seen | {name}):
                return found
            continue
        script = _without_wrappers(words, {})
        if script is not None and _known(root, script) is not None:
            return words
    return None


def _without_wrappers(words: tuple[str, ...], env: dict[str, str]) -> _Script | None:
    """The command within `npx cross-env A=b jest`; None when nothing is left."""
    while words:
        if match := _ASSIGNED.fullmatch(words[0]):
            env[match[1]] = match[2]
        elif words[0] not in _WRAPPERS and not words[0].startswith("-"):
            return _Script(words=words, env=env)
        words = words[2:] if words[0] in _WRAPPERS_VALUED else words[1:]
    return None


class _Told(NamedTuple):
    """What a `CommandPlan` has of a command that is known."""

    form: TestFormat
    argv: tuple[str, ...]
    targets: tuple[str, ...]
    narrow: tuple[str, ...] | None
    after: tuple[str, ...] = ()


def _known(root: Path, script: _Script) -> _Told | None:
    words = script.words
    name = Path(words[0]).name
    if name == "node" and "--test" in words:
        return _node(words)
    if name == "go" and words[1:2] == ("test",):
        # Build errors are on standard error.
        # `-vet=off`: what vet holds against a file is no test's result. `-count=1`: no answer of an earlier run.
        ours = ("-json", "-vet=off", "-count=1")
        packages, options = _go(words)
        argv = (*_MERGED, "go", "test", *ours)
        return _Told("go", argv, packages or ("./...",), (), after=options)
    if name == "cargo" and words[1:2] == ("test",):
        more = () if "--no-fail-fast" in words else ("--no-fail-fast",)
        # Names of test programs are on standard error, results on standard output: they belong in one order.
        return _Told("cargo", (*_MERGED, "cargo", "test", *more, *words[2:]), (), None)
    return _installed(root, words)


def _go(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Packages and options of a `go test`.

    Packages have to come before what go does not know, which it leaves to the tests with all that follows.
    """
    end = next((i for i, w in enumerate(words) if w in {"-args", "--args"}), len(words))
    known = [w for w in words[2:end] if w not in {"-json", "-v"}]
    packages = tuple(w for w in known if w.startswith("."))
    return packages, (*(w for w in known if not w.startswith(".")), *words[end:])


def _node(words: tuple[str, ...]) -> _Told:
    options: list[str] = []
    targets: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        value = [next(rest, "")] if word in _VALUED else []
        if word == "--test" or word.partition("=")[0] in _NODE_DROPPED:
            continue
        if word.startswith("-"):
            options += [word, *value]
        else:
            targets.append(word)
    reporter, witness = map(str, NODE_PARTS)
    ours = ("--test-reporter", reporter, "--test-reporter-destination", "stdout")
    argv = ("node", "--require", witness, "--test", *ours, *options)
    return _Told("node", argv, tuple(targets), ())


def _installed(root: Path, words: tuple[str, ...]) -> _Told | None:
    """Jest, vitest and mocha, where they are installed, called by name or through node."""
    node_options: tuple[str, ...] = ()
    if Path(words[0]).name == "node":
        options = [i for i, w in enumerate(words[1:], 1) if not w.startswith("-")]
        if not options:
            return None
        node_options, words = words[1 : options[0]], words[options[0] :]
    runner = Path(words[0]).name.partition(".")[0]
    start = f"node_modules/.bin/{runner}"
    if runner not in {"jest", "mocha", "vitest"} or not (root / start).exists():
        return None
    program, kept = ("node", *node_options, start), _without_reports(runner, words[1:])
    if runner == "mocha":
        ours: tuple[str, ...] = ("--reporter", "xunit", "--reporter-option", f"output={REPORT}")
        return _Told("junit", (*program, *kept, *ours), (), None)
    if runner == "jest":
        ours = ("--json", f"--outputFile={REPORT}")
        return _Told("jest", (*program, *kept, *ours), (), ("--runTestsByPath",))
    ours = ("--reporter=json", f"--outputFile={REPORT}")
    return _Told("jest", (*program, "run", *kept, *ours), (), ())


def _without_reports(runner: str, words: Sequence[str]) -> list[str]:
    """A runner's arguments without what ours take the place of, and without watching and measuring."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in _REPORTS:
            next(rest, None)
        elif word.partition("=")[0] not in _REPORTS | _DROPPED[runner]:
            kept.append(word)
    return _without_command(kept) if runner == "vitest" else kept


def _without_command(words: Sequence[str]) -> list[str]:
    """Arguments of vitest without its command: as ours is `run`, another one would be a pattern for files."""
    before = ("", *words)
    at = next(
        (i for i, w in enumerate(words) if w in _VITEST_RUNS and before[i] not in _VITEST_NAMES),
        len(words),
    )
    return [*words[:at], *words[at + 1 :]]
