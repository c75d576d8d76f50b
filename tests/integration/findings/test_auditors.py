"""Real tools on small real trees."""

import hashlib
import json
import os
import shlex
import sys
import venv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from surefoot.errors import SandboxError
from surefoot.findings import CommandAuditor, NoTests, Toolchain, default_auditors, run_audit
from surefoot.findings.process import AUDIT_LIMITS
from surefoot.findings.tools.bandit import BanditAuditor
from surefoot.findings.tools.deadcode import DeadCodeAuditor
from surefoot.findings.tools.mypy import MypyAuditor, applies
from surefoot.findings.tools.ruff import ComplexityAuditor, RuffAuditor
from surefoot.findings.tools.secrets import SecretsAuditor
from surefoot.kernel.ports import Auditor, Processes
from surefoot.settings import AUDITORS
from surefoot.values import AuditorState, Command, Finding, Limits, ProcessResult, Severity

Tree = Callable[[dict[str, str]], Path]
AWS_KEY = "AKIA" + "Q3EGRI7TZLVXW4NB"


def rules(findings: tuple[Finding, ...]) -> set[tuple[str, int]]:
    return {(f.rule, f.line) for f in findings}


def found(auditor: Auditor, root: Path) -> tuple[Finding, ...]:
    result = auditor.audit(root)
    assert result.state is AuditorState.OK, result.message
    return result.findings


class TestRuff:
    def test_bugs_without_configuration(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """A project without ruff rules hears of bugs, and nothing of style."""
        root = tree(
            {
                "a.py": """\
                import os, sys
                def f(x=[]):
                    y = undefined
                    if x == None: return   1
                """,
                "pkg/__init__.py": "from a import f\n",
                "new.py": "match 1:\n    case _:\n        type X = int\n",
            }
        )
        findings = found(RuffAuditor(processes, toolchain), root)
        assert {f.rule for f in findings} == {"F401", "B006", "F841", "F821"}
        assert {f.file for f in findings} == {"a.py"}
        undefined = next(f for f in findings if f.rule == "F821")
        assert (undefined.severity, undefined.line, undefined.column) == (Severity.HIGH, 3, 9)
        assert undefined.evidence == "y = undefined"

    def test_a_python_that_ruff_does_not_know_is_audited(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """A project that also supports Python 3.6 is held to the oldest that ruff knows."""
        root = tree(
            {
                "pyproject.toml": '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.6"\n',
                "a.py": "import os\n",
            }
        )
        assert rules(found(RuffAuditor(processes, toolchain), root)) == {("F401", 1)}
        assert found(ComplexityAuditor(processes, toolchain), root) == ()

    def test_own_rules_are_honoured(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """With `[tool.ruff]` the project's selection, and only that, counts."""
        root = tree(
            {
                "pyproject.toml": '[tool.ruff.lint]\nselect = ["E711"]\n',
                "a.py": "import os\nx = 1\nif x == None:\n    pass\n",
            }
        )
        assert rules(found(RuffAuditor(processes, toolchain), root)) == {("E711", 3)}

    def test_syntax_error_is_high(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """A file that does not parse is a finding, not a broken tool."""
        findings = found(RuffAuditor(processes, toolchain), tree({"a.py": "def f(:\n"}))
        assert findings
        assert {(f.rule, f.severity) for f in findings} == {("invalid-syntax", Severity.HIGH)}

    def test_broken_configuration_is_broken(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """A configuration that ruff refuses is no clean answer."""
        root = tree({"ruff.toml": "lint.select = 7\n", "a.py": ""})
        result = RuffAuditor(processes, toolchain).audit(root)
        assert result.state is AuditorState.BROKEN
        assert "ended with 2" in result.message

    def test_project_cannot_pose_as_ruff(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """A `ruff.py` or `json.py` in the tree is not what runs."""
        fake = "print('[]')\nraise SystemExit(0)\n"
        root = tree({"ruff.py": fake, "ruff/__main__.py": fake, "a.py": "undefined\n"})
        assert ("F821", 1) in rules(found(RuffAuditor(processes, toolchain), root))


class TestComplexity:
    BODY = "".join(f"    if x == {n}:\n        return {n}\n" for n in range(16))

    def test_own_bound_and_ours(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """Above 15 without a bound of the project's own, else above its own."""
        auditor = ComplexityAuditor(processes, toolchain)
        root = tree({"a.py": f"def f(x):\n{self.BODY}"})
        assert rules(found(auditor, root)) == {("C901", 1)}
        (root / "ruff.toml").write_text("lint.mccabe.max-complexity = 30\n")
        assert found(auditor, root) == ()


class TestMypy:
    def test_types_are_checked(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """Mypy's errors come with code, place and severity."""
        root = tree(
            {
                "pyproject.toml": "[tool.mypy]\nstrict = true\n",
                "src/pkg/__init__.py": "",
                "src/pkg/a.py": 'def f(x: int) -> int:\n    return x\n\n\nf("a")\n',
                "tests/test_a.py": "def f(): return 1 + 'a'\n",
            }
        )
        findings = found(MypyAuditor(processes, toolchain), root)
        assert [(f.rule, f.file, f.line, f.column, f.category) for f in findings] == [
            ("arg-type", "src/pkg/a.py", 5, 3, "typing")
        ]
        assert not (root / ".mypy_cache").exists()

    def test_what_is_not_looked_at_is_told(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """A folder that is no package stands beside the answer, and does not count as clean without a word."""
        files = {"mypy.ini": "[mypy]\n", "setup.py": "", "ns/pkg/m.py": 'x: int = "s"\n'}
        result = MypyAuditor(processes, toolchain).audit(tree(files))
        assert result.state is AuditorState.OK
        assert result.message == "ns: not looked at; name it in mypy's `files`"

    def test_syntax_error_and_missing_packages(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """A syntax error is a finding; a package that this machine lacks is not."""
        auditor = MypyAuditor(processes, toolchain)
        root = tree({"mypy.ini": "[mypy]\n", "a.py": "import surely_not_installed\n"})
        result = auditor.audit(root)
        assert (result.state, result.findings) == (AuditorState.OK, ())
        assert "1 imports" in result.message
        (root / "a.py").write_text("def f(:\n")
        assert {(f.rule, f.severity) for f in found(auditor, root)} == {("syntax", Severity.HIGH)}

    def test_packages_of_the_project(
        self, tree: Tree, processes: Processes, toolchain: Toolchain, tmp_path: Path
    ) -> None:
        """With the project's interpreter its packages are known, and one that it lacks is a finding."""
        home = tmp_path / "env"
        venv.create(home, symlinks=True)
        (package,) = home.glob("lib/python3*/site-packages")
        (package / "known").mkdir()
        (package / "known/py.typed").touch()
        (package / "known/__init__.py").write_text("def f(x: int) -> int: ...\n")
        root = tree({"mypy.ini": "[mypy]\n", "a.py": "import known, unknown\nknown.f('x')\n"})
        auditor = MypyAuditor(processes, toolchain, project_python=home / "bin/python")
        assert rules(found(auditor, root)) == {("import-not-found", 1), ("arg-type", 2)}

    def test_gives_up_is_broken(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """Exit code 2 for another reason than syntax is no answer."""
        root = tree({"mypy.ini": "[mypy]\nfiles = absent.py\n", "a.py": ""})
        assert MypyAuditor(processes, toolchain).audit(root).state is AuditorState.BROKEN

    def test_applies(self, tree: Tree) -> None:
        """Only to a project that configures mypy or ships types."""
        root = tree({"pkg/__init__.py": ""})
        assert not applies(root)
        (root / "setup.cfg").write_text("[mypy]\n")
        assert applies(root)
        (root / "setup.cfg").unlink()
        (root / "pkg/py.typed").touch()
        assert applies(root)


class TestBandit:
    CODE = "import yaml\nimport subprocess\nassert yaml\nyaml.load('x')\n"

    def test_severity_and_configuration(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """Medium and up outside tests without a configuration; all that it asks for with one."""
        auditor = BanditAuditor(processes, toolchain)
        root = tree({"a.py": self.CODE, "tests/test_a.py": self.CODE, "bad.py": "def f(:\n"})
        result = auditor.audit(root)
        assert result.state is AuditorState.OK
        assert "1 files do not parse" in result.message
        assert [(f.rule, f.file, f.line, f.severity) for f in result.findings] == [
            ("B506", "a.py", 4, Severity.MEDIUM)
        ]
        (root / "pyproject.toml").write_text('[tool.bandit]\nexclude_dirs = ["tests"]\n')
        assert {f.rule for f in found(auditor, root)} == {"B101", "B404", "B506"}
        assert {f.file for f in found(auditor, root)} == {"a.py"}

    def test_high(self, tree: Tree, processes: Processes, toolchain: Toolchain) -> None:
        """Bandit's high is high, and blocks."""
        code = "import subprocess\n\n\ndef f(x):\n    subprocess.call(x, shell=True)\n"
        findings = found(BanditAuditor(processes, toolchain), tree({"a.py": code}))
        assert [(f.rule, f.severity, f.category) for f in findings] == [
            ("B602", Severity.HIGH, "security")
        ]


class TestDeadCode:
    CODE = "def f(unused):\n    return 1\n    print(2)\n\n\ndef g():\n    import os\n"

    def test_certain_only_without_configuration(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """What no caller could reach; the rest when the project asks for it."""
        auditor = DeadCodeAuditor(processes, toolchain)
        root = tree({"a.py": self.CODE, "bad.py": "def f(:\n"})
        result = auditor.audit(root)
        assert rules(result.findings) == {("unreachable-code", 3)}
        assert "1 files do not parse" in result.message
        (root / "pyproject.toml").write_text("[tool.vulture]\nmin_confidence = 60\n")
        assert rules(found(auditor, root)) == {
            ("unreachable-code", 3),
            ("unused-variable", 1),
            ("unused-function", 1),
            ("unused-function", 6),
        }


class TestOddFiles:
    """One odd file takes nothing from the others, and is named itself."""

    CODE = "import subprocess\n\n\ndef f(x):\n    subprocess.call(x, shell=True)\n    return 1\n    print(2)\n"

    def test_a_file_that_is_not_utf_8_is_left_to_ruff(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """Which names it, as it names one that does not parse."""
        root = tree({"a.py": self.CODE})
        (root / "latin.py").write_bytes(b'x = "caf\xe9"\n')
        for auditor, line in (
            (BanditAuditor(processes, toolchain), 5),
            (DeadCodeAuditor(processes, toolchain), 7),
        ):
            result = auditor.audit(root)
            assert result.state is AuditorState.OK, result.message
            assert [(f.file, f.line) for f in result.findings] == [("a.py", line)]
            assert result.message == "1 files do not parse and were left to ruff"
        told = found(RuffAuditor(processes, toolchain), root)
        assert ("latin.py", "E902") in {(f.file, f.rule) for f in told}

    def test_a_file_whose_name_is_not_utf_8_is_looked_at(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """Its findings name it by its escapes."""
        root = tree({"a.py": self.CODE})
        (root / os.fsdecode(b"odd\xe9.py")).write_text(self.CODE)
        for auditor in (BanditAuditor(processes, toolchain), DeadCodeAuditor(processes, toolchain)):
            assert [f.file for f in found(auditor, root)] == ["a.py", r"odd\udce9.py"]


class TestSecrets:
    def test_a_key_is_critical_and_never_shown(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """A credential blocks, in any text file, and the finding does not hold it."""
        root = tree(
            {
                "deploy/conf.yml": f"user: x\nkey: {AWS_KEY}\n",
                "a.py": f"x = 1\ny = '{AWS_KEY}'\n",
                "b.py": "x = 1\n",
            }
        )
        findings = found(SecretsAuditor(processes, toolchain), root)
        assert [(f.rule, f.file, f.line, f.severity) for f in findings] == [
            ("aws-access-key", "a.py", 2, Severity.CRITICAL),
            ("aws-access-key", "deploy/conf.yml", 2, Severity.CRITICAL),
        ]
        assert AWS_KEY not in repr(findings)

    def test_file_names_that_are_no_text(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """A file whose name is not UTF-8 is looked at like any other."""
        root = tree({})
        (root / os.fsdecode(b"k\xff.txt")).write_text(f"key: {AWS_KEY}\n")
        findings = found(SecretsAuditor(processes, toolchain), root)
        assert [f.file for f in findings] == ["k\\udcff.txt"]

    def test_hashes_and_sham_passwords_are_left_alone(
        self, tree: Tree, processes: Processes, toolchain: Toolchain
    ) -> None:
        """Entropy and the word password alone are not worth a critical finding."""
        code = 'password = "hunter2"\nsha = "3da541559918a808c2402bba5012f6c60b27661c"\n'
        assert found(SecretsAuditor(processes, toolchain), tree({"a.py": code})) == ()

    def test_own_baseline(self, tree: Tree, processes: Processes, toolchain: Toolchain) -> None:
        """A `.secrets.baseline` brings its own detectors and what it has accepted."""
        auditor = SecretsAuditor(processes, toolchain)
        root = tree({"a.py": f'key = "{AWS_KEY}"\npassword = "hunter2secret"\n'})
        baseline = {
            "version": "1.5.0",
            "plugins_used": [{"name": "KeywordDetector", "keyword_exclude": ""}],
            "filters_used": [],
            "results": {},
        }
        (root / ".secrets.baseline").write_text(json.dumps(baseline))
        keyword = found(auditor, root)
        assert {f.rule for f in keyword} == {"secret-keyword"}
        mark = hashlib.sha1(b"hunter2secret", usedforsecurity=False).hexdigest()
        baseline["results"] = {"a.py": [{"hashed_secret": mark}]}
        (root / ".secrets.baseline").write_text(json.dumps(baseline))
        assert mark not in {f.fingerprint for f in keyword}
        assert found(auditor, root) == ()
        (root / ".secrets.baseline").write_text("{}")
        assert auditor.audit(root).state is AuditorState.BROKEN


SARIF = {
    "version": "2.1.0",
    "runs": [
        {
            "tool": {"driver": {"name": "mine"}},
            "results": [
                {
                    "ruleId": "X1",
                    "level": "error",
                    "message": {"text": "bad"},
                    "locations": [
                        {
                            "physicalLocation": {
                                "artifactLocation": {"uri": "a.py"},
                                "region": {"startLine": 1},
                            }
                        }
                    ],
                }
            ],
        }
    ],
}


def printing(text: str, code: int = 0) -> tuple[str, ...]:
    return ("/bin/sh", "-c", f"printf %s {shlex.quote(text)}; exit {code}")


class TestCommand:
    def test_sarif_is_read(self, tree: Tree, processes: Processes) -> None:
        """Whatever prints SARIF is an auditor."""
        auditor = CommandAuditor(processes, name="mine", argv=printing(json.dumps(SARIF), 1))
        findings = found(auditor, tree({"a.py": "x = 1\n"}))
        assert [(f.tool, f.rule, f.line, f.severity, f.evidence) for f in findings] == [
            ("mine", "X1", 1, Severity.HIGH, "x = 1")
        ]

    @pytest.mark.parametrize(
        ("argv", "state"),
        [
            (printing(json.dumps(SARIF), 7), AuditorState.BROKEN),
            (printing(""), AuditorState.BROKEN),
            (printing("all good"), AuditorState.BROKEN),
            (printing('{"version": "2.1.0", "runs": []}'), AuditorState.BROKEN),
            (printing('{"version": "1.0.0", "runs": []}'), AuditorState.BROKEN),
            (
                printing(
                    '{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"m"}},"results":[],'
                    '"invocations":[{"executionSuccessful":false}]}]}'
                ),
                AuditorState.BROKEN,
            ),
            (("/bin/sh", "-c", "kill -9 $$"), AuditorState.BROKEN),
            (printing(json.dumps(SARIF) + " " * 100_000), AuditorState.BROKEN),
            (("/bin/sh", "-c", "surely-not-a-program"), AuditorState.MISSING),
            (("/bin/sh", "-c", "read x < /dev/zero"), AuditorState.TIMEOUT),
        ],
    )
    def test_anything_else_is_a_state(
        self, tree: Tree, processes: Processes, argv: tuple[str, ...], state: AuditorState
    ) -> None:
        """A crash, wrong output, an unknown exit code, a missing program and a timeout are never clean."""
        limits = Limits(wall_s=0.5 if state is AuditorState.TIMEOUT else 20, output_bytes=100_000)
        result = CommandAuditor(processes, name="mine", argv=argv, limits=limits).audit(tree({}))
        assert (result.state, result.findings) == (state, ())
        assert result.message.startswith("mine ")

    def test_no_fence_no_audit(self, tree: Tree) -> None:
        """A sandbox that refuses leaves a broken auditor, not a clean one."""

        class Refusing:
            level = None

            def run(self, command: Command) -> ProcessResult:
                raise SandboxError(f"no fence for {command.argv[0]}")

        auditor = CommandAuditor(Refusing(), name="mine", argv=("true",))  # type: ignore[arg-type]
        result = auditor.audit(tree({}))
        assert result.state is AuditorState.BROKEN
        assert "no fence" in result.message


@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        (RuffAuditor, "", 0),
        (RuffAuditor, "all good", 0),
        (RuffAuditor, "[]", 1),
        (RuffAuditor, "{}", 0),
        (ComplexityAuditor, "", 1),
        (BanditAuditor, "", 0),
        (BanditAuditor, '{"errors": [], "results": []}', 1),
        (BanditAuditor, '{"errors": [{"filename": "a", "reason": "lost"}], "results": []}', 0),
        (DeadCodeAuditor, "all good", 0),
        (DeadCodeAuditor, "", 3),
        (DeadCodeAuditor, "a.py:1: unused function 'f' (60% confidence)", 0),
        (MypyAuditor, "Success", 0),
        (MypyAuditor, "", 1),
        (MypyAuditor, "{}", 1),
        (SecretsAuditor, "", 0),
        (SecretsAuditor, "{}", 0),
        (SecretsAuditor, "[]", 1),
    ],
)
def test_other_output_is_broken(
    tree: Tree, processes: Processes, tmp_path: Path, kind: Any, text: str, code: int
) -> None:
    """What is not the tool's own format, or does not fit its exit code, is no answer."""
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf %s {shlex.quote(text)}\nexit {code}\n")
    program.chmod(0o755)
    toolchain = Toolchain(python=program, reads=(program.parent,))
    result = kind(processes, toolchain).audit(tree({"a.py": "x = 1\n"}))
    assert (result.state, result.findings) == (AuditorState.BROKEN, ())


def test_missing_tools_are_missing(
    tree: Tree, processes: Processes, toolchain: Toolchain, tmp_path: Path
) -> None:
    """An interpreter without the tools gives MISSING for each of them, with the mend."""
    root = tree({"a.py": "x = 1\n", "mypy.ini": "[mypy]\n"})
    bare = replace(toolchain, python=Path(sys.base_prefix) / "bin" / "python3")
    audit = run_audit(default_auditors(processes, bare, root), root)
    assert {r.tool: r.state for r in audit.results} == dict.fromkeys(
        ("secrets", "ruff", "mypy", "bandit", "dead-code", "complexity"), AuditorState.MISSING
    )
    assert {*AUDITORS} == {*(r.tool for r in audit.results), NoTests("").tool}
    assert all("pip install" in r.message for r in audit.results)
    assert not audit.ci_pass


def test_timeouts_are_timeouts(tree: Tree, processes: Processes, toolchain: Toolchain) -> None:
    """A tool that is too slow is never clean."""
    hasty = replace(toolchain, limits=replace(AUDIT_LIMITS, wall_s=0.001))
    root = tree({"a.py": "x = 1\n"})
    assert RuffAuditor(processes, hasty).audit(root).state is AuditorState.TIMEOUT


def test_a_round_is_ordered_and_writes_nothing(
    tree: Tree, processes: Processes, toolchain: Toolchain
) -> None:
    """All auditors answer in their order, twice the same, and the tree stays as it was."""
    root = tree(
        {
            "pyproject.toml": '[project]\nname = "x"\nrequires-python = ">=3.11"\n',
            "x.py": "import os\nimport yaml\n\nx = yaml.load('a')\n",
            ".venv/pyvenv.cfg": "",
            ".venv/lib/dead.py": "import os\nundefined\nyaml.load(1)\n",
        }
    )
    before = sorted(root.rglob("*"))
    auditors = default_auditors(processes, toolchain, root)
    first, second = (run_audit(auditors, root, parallel=n) for n in (2, 1))
    assert [r.tool for r in first.results] == [a.tool for a in auditors]
    assert not first.broken, first.broken
    assert first.findings == second.findings
    assert {(f.tool, f.rule) for f in first.findings} == {("ruff", "F401"), ("bandit", "B506")}
    assert sorted(root.rglob("*")) == before


def test_a_baseline_accepts(tree: Tree, processes: Processes, toolchain: Toolchain) -> None:
    """Accepted findings do not count, wherever they move to."""
    root = tree({"x.py": "import os\n"})
    auditors = (RuffAuditor(processes, toolchain),)
    first = run_audit(auditors, root)
    (root / "x.py").write_text("# moved\n\nimport os\n")
    accepted = run_audit(auditors, root, baseline=[f.fingerprint for f in first.findings])
    assert (first.ci_pass, accepted.ci_pass) == (False, True)


def test_no_python_no_python_tools(tree: Tree, processes: Processes, toolchain: Toolchain) -> None:
    """A repository without Python is looked at for secrets only."""
    root = tree({"main.go": "package main\n"})
    assert [a.tool for a in default_auditors(processes, toolchain, root)] == ["secrets"]
