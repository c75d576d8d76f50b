"""Configuration that decides what counts as clean: thresholds, selections, baselines, hooks, CI.

Formats that say what they mean (TOML, INI, JSON) are compared by meaning, so that a comment or an order is no change;
Python by its syntax tree; anything else by its text.
"""

import configparser
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from surefoot.findings.baseline import BASELINE_NAME
from surefoot.findings.gaming.told import Contents, Told, is_python, words
from surefoot.syntax import dumped, tree_of

Leaves: TypeAlias = Mapping[str, object]

_TOOLS: Final = words(
    "bandit basedpyright codespell coverage detect-secrets flake8 importlinter interrogate mypy "
    "nox pylint pyright pyre pytest ruff surefoot tox ty vulture"
)
"""Tables of pyproject.toml, and heads of sections in setup.cfg and tox.ini, that decide on findings or tests."""
_SHARED: Final = frozenset({"pyproject.toml", "setup.cfg", "tox.ini", "package.json"})
"""Files that also hold what no gate reads."""
_INI: Final = words(
    ".coveragerc .flake8 .bandit .pylintrc pylintrc mypy.ini .mypy.ini pytest.ini .pytest.ini "
    ".importlinter setup.cfg tox.ini"
)
_TOML: Final = words(
    "pyproject.toml ruff.toml .ruff.toml surefoot.toml .coverage.toml pytest.toml ty.toml"
)
_BASELINES: Final = frozenset({BASELINE_NAME, ".secrets.baseline", "mypy-baseline.txt"})
_OTHERS: Final = words(
    ".pre-commit-config.yaml .pre-commit-hooks.yaml noxfile.py bandit.yaml bandit.yml conftest.py "
    "sitecustomize.py usercustomize.py pyrightconfig.json .gitlab-ci.yml .eslintrc .eslintignore "
    ".semgrepignore tslint.json .golangci.yml"
)
_MINIMUM: Final = re.compile(
    r"(?:^|[._-])(?:min|fail|cov-fail|score|threshold)[_-]?", re.IGNORECASE
)
_MAXIMUM: Final = re.compile(r"(?:^|[._-])(?:max|line)[_-]?|min[_-]confidence", re.IGNORECASE)
_FAIL_UNDER: Final = re.compile(r"fail[-_]under[= ]+([\d.]+)")
_SHOWN: Final = 60


def is_gate_file(path: str) -> bool:
    """Whether a path has the name of a file that decides what counts as clean."""
    pure = PurePosixPath(path)
    return (
        pure.name in _INI | _TOML | _BASELINES | _OTHERS
        or pure.suffix == ".pth"
        or path.startswith((".github/", ".circleci/", ".ci/", ".husky/"))
    )


def edited_gates(contents: Contents, gates: frozenset[str]) -> Iterator[Told]:
    """What changed in the files that steer tests and gates."""
    for path in sorted(path for path in contents if path in gates):
        before, after = contents[path]
        if PurePosixPath(path).name in _BASELINES:
            yield from _baseline(path, before, after)
            continue
        was, now = _leaves(path, before), _leaves(path, after)
        if was is None or now is None:
            yield from _text(path, before, after)
        else:
            for key in sorted(was.keys() | now.keys()):
                if was.get(key) != now.get(key):
                    yield _changed(path, key, was.get(key), now.get(key))


def _changed(path: str, key: str, was: object, now: object) -> Told:
    lowered = _lowered(key, was, now)
    rule = "lowered-threshold" if lowered else "gate-configuration-changed"
    return Told(rule=rule, file=path, message=f"{key}: {_shown(was)} -> {_shown(now)}")


def _shown(value: object) -> str:
    return "absent" if value is None else repr(value)[:_SHOWN]


def _lowered(key: str, was: object, now: object) -> bool:
    floors = _floor(was), _floor(now)
    if floors[0] is not None:
        return floors[1] is None or floors[1] < floors[0]
    old, new = _number(was), _number(now)
    if old is None:
        return False
    # `min_confidence` is vulture's: a higher one reports less.
    if _MAXIMUM.search(key):
        return new is None or new > old
    return bool(_MINIMUM.search(key)) and (new is None or new < old)


def _floor(value: object) -> float | None:
    """A coverage threshold inside an option string such as pytest's `addopts`."""
    match = _FAIL_UNDER.search(json.dumps(value, default=str))
    return float(match.group(1).rstrip(".")) if match else None


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _text(path: str, before: str | None, after: str | None) -> Iterator[Told]:
    if before is None and after is not None:
        what = "added"
    elif after is None:
        what = "removed, or no longer text"
    elif _meaning(path, before) == _meaning(path, after):
        return
    else:
        what = "changed"
    yield Told(
        rule="gate-configuration-changed", file=path, message=f"a file that steers gates is {what}"
    )


def _meaning(path: str, text: str | None) -> str | None:
    tree = tree_of(text) if text is not None and is_python(path) else None
    return dumped(tree) if tree else text


def _baseline(path: str, before: str | None, after: str | None) -> Iterator[Told]:
    # Entries may go; each that comes is a finding that nobody mended.
    fresh = _entries(after) - _entries(before)
    if fresh:
        yield Told(
            rule="grown-baseline", file=path, message=f"{len(fresh)} findings more are accepted"
        )


def _entries(text: str | None) -> frozenset[str]:
    try:
        document = json.loads(text or "null")
    except (ValueError, RecursionError):
        return frozenset((text or "").splitlines())
    findings = document.get("findings") if isinstance(document, dict) else None
    if isinstance(findings, list):
        return frozenset(
            json.dumps(f.get("fingerprint", f)) for f in findings if isinstance(f, dict)
        )
    if isinstance(document, dict):
        document = {k: v for k, v in document.items() if k not in {"generated_at", "version"}}
        results = document.pop("results", None)
        flat = (*_flat(document, ""), *_secrets(results))
    else:
        flat = tuple(_flat(document, ""))
    return frozenset(f"{k}={json.dumps(v)}" for k, v in flat)


def _secrets(results: object) -> Iterator[tuple[str, object]]:
    """What a baseline of detect-secrets accepts, one by one; lines move, and what a person said of one is no other."""
    for file, found in _flat(results, "results"):
        for one in found if isinstance(found, list) else [found]:
            yield file, (one.get("hashed_secret", one) if isinstance(one, dict) else one)


def _leaves(path: str, text: str | None) -> Leaves | None:
    """What the file says, by dotted key; None when only its text can be compared."""
    name = PurePosixPath(path).name
    if text is None:
        # In a file that gates share, what is absent says nothing; a file of their own is a change in itself.
        return {} if name in _SHARED else None
    try:
        if name in _TOML:
            document: object = tomllib.loads(text)
        elif name in _INI:
            parser = configparser.RawConfigParser(strict=False)
            parser.read_string(text)
            document = {section: dict(parser[section]) for section in parser.sections()}
        elif name == "package.json":
            document = json.loads(text)
        else:
            return None
    except (ValueError, configparser.Error, RecursionError):
        return None
    leaves = dict(_flat(document, ""))
    if name not in _SHARED:
        return leaves
    return {key: value for key, value in leaves.items() if _is_gate_key(name, key)}


def _is_gate_key(name: str, key: str) -> bool:
    parts = re.split(r"[.:\-]", key)
    if name == "pyproject.toml":
        return parts[0] == "tool" and key.split(".")[1:2] != [] and key.split(".")[1] in _TOOLS
    if name == "package.json":
        return parts[0] in {"jest", "eslintConfig", "nyc", "c8", "vitest"} or key == "scripts.test"
    return parts[0] in _TOOLS | {"testenv"} or key.startswith("tool:pytest")


def _flat(value: object, key: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else str(name))
    else:
        yield key, value
