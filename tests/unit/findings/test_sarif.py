"""SARIF in and out."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from surefoot.findings import SarifError, sarif_to_findings, write_sarif
from surefoot.findings.raw import Raw, findings_of
from surefoot.findings.sarif import read_sarif
from surefoot.values import Audit, AuditorResult, AuditorState, Finding, Severity

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "data" / "sarif-2.1.0-rtm.5.json").read_text("utf-8")
)


def log(*results: dict[str, Any], **run: Any) -> bytes:
    driver = {"name": "Tool", "rules": run.pop("rules", [])}
    whole = {"tool": {"driver": driver}, "results": list(results), **run}
    return json.dumps({"version": "2.1.0", "runs": [whole]}).encode()


def at(uri: str, line: int = 1, **more: Any) -> list[dict[str, Any]]:
    region = {"startLine": line, **more}
    return [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}]


def notes(kind: str, level: str | None) -> dict[str, Any]:
    note = {"message": {"text": "it said"}} | ({"level": level} if level else {})
    return {f"tool{kind}Notifications": [note]}


EXECUTION = {level: notes("Execution", level) for level in ("error", "warning", "none", None)}
CONFIGURATION = notes("Configuration", "error")


def one(data: bytes, root: Path | None = None) -> Finding:
    (finding,) = sarif_to_findings(data, root=root)
    return finding


class TestNonsense:
    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            (b"", "empty"),
            (b" \n", "empty"),
            (b"no", "not-json"),
            (b"\xff\xfe\x00", "not-json"),
            (b"[" * 100_000, "not-json"),
            (b"[]", "not-sarif"),
            (b"{}", "not-sarif"),
            (b'{"version": 2}', "not-sarif"),
            (b'{"version": "2.0.0", "runs": []}', "version"),
            (b'{"version": "2.1.0"}', "not-sarif"),
            (b'{"version": "2.1.0", "runs": [{}]}', "not-sarif"),
            (
                b'{"version": "2.1.0", "runs": [{"tool": {"driver": {}}, "results": 3}]}',
                "not-sarif",
            ),
            (
                log({"message": {"text": "x"}, "locations": at("a", 1) * 2, "ruleIndex": "z"}),
                "not-sarif",
            ),
        ],
    )
    def test_is_told_apart(self, data: bytes, problem: str) -> None:
        """Each kind of nonsense has its own problem, and a sentence."""
        with pytest.raises(SarifError) as caught:
            read_sarif(data)
        assert caught.value.problem == problem
        assert str(caught.value).startswith("not a SARIF 2.1.0 log")
        assert caught.value.blame == "caller"

    def test_huge(self) -> None:
        """Too large is said before it is parsed."""
        with pytest.raises(SarifError, match="huge"):
            read_sarif(b"[" * 11, max_bytes=10)


class TestReading:
    def test_rules_by_index_and_messages_by_id(self) -> None:
        """A result leans on its rule for id, message, level, help and score."""
        rule = {
            "id": "R1",
            "messageStrings": {"default": {"text": "use {0}, not {1}"}},
            "defaultConfiguration": {"level": "error"},
            "helpUri": "https://example.org/R1",
            "properties": {"security-severity": "9.8", "tags": ["security"]},
        }
        result = {"ruleIndex": 0, "message": {"id": "default", "arguments": ["a", "b"]}}
        finding = one(log(result, rules=[rule]))
        assert finding.tool == "tool"
        assert (finding.rule, finding.message) == ("R1", "use a, not b")
        assert (finding.severity, finding.category) == (Severity.CRITICAL, "security")
        assert finding.remediation == "https://example.org/R1"
        assert (finding.file, finding.line, finding.column) == ("", 0, 0)

    def test_rules_of_extensions_and_hierarchical_ids(self) -> None:
        """Rules may stand in an extension; `R1/x` belongs to `R1`."""
        data = json.loads(log({"ruleId": "R1/x", "message": {}}))
        data["runs"][0]["tool"]["extensions"] = [
            {"name": "e", "rules": [{"id": "R1", "shortDescription": {"text": "short"}}]}
        ]
        finding = one(json.dumps(data).encode())
        assert (finding.rule, finding.message) == ("R1/x", "short")
        data["runs"][0]["results"][0] = {
            "rule": {"index": 0, "toolComponent": {"index": 0}},
            "message": {"text": "m"},
        }
        assert one(json.dumps(data).encode()).rule == "R1"

    @pytest.mark.parametrize(
        ("level", "severity"),
        [
            ("error", Severity.HIGH),
            ("warning", Severity.MEDIUM),
            ("note", Severity.LOW),
            ("none", Severity.INFO),
            (None, Severity.MEDIUM),
        ],
    )
    def test_levels(self, level: str | None, severity: Severity) -> None:
        """No level at all is a warning."""
        result = {"message": {"text": "m"}} | ({"level": level} if level else {})
        assert one(log(result)).severity is severity

    @pytest.mark.parametrize(
        "more",
        [
            {"kind": "pass"},
            {"kind": "notApplicable"},
            {"kind": "informational"},
            {"baselineState": "absent"},
            {"suppressions": [{"kind": "inSource"}]},
            {"suppressions": [{"kind": "external", "status": "accepted"}]},
        ],
    )
    def test_not_findings(self, more: dict[str, Any]) -> None:
        """Passes, suppressed results and results that are gone do not count."""
        assert sarif_to_findings(log({"message": {"text": "m"}, **more})) == ()

    def test_rejected_suppressions_count(self) -> None:
        """A suppression that was rejected, or is still under review, hides nothing."""
        more = {"suppressions": [{"kind": "external", "status": "rejected"}]}
        assert sarif_to_findings(log({"message": {"text": "m"}, **more}))

    def test_addresses(self, tmp_path: Path) -> None:
        """File addresses become paths of the tree: percent signs, bases, artifacts by index."""
        text = {"message": {"text": "m"}}
        absolute = (tmp_path / "src/a b.py").as_uri()
        assert one(log({**text, "locations": at(absolute)}), tmp_path).file == "src/a b.py"
        assert one(log({**text, "locations": at("./src/a%20b.py")})).file == "src/a b.py"
        assert one(log({**text, "locations": at("https://x/y")})).file == "https://x/y"
        based = at("a.py")
        based[0]["physicalLocation"]["artifactLocation"]["uriBaseId"] = "SRC"
        bases = {
            "ROOT": {"uri": f"{tmp_path.as_uri()}/"},
            "SRC": {"uri": "s/", "uriBaseId": "ROOT"},
        }
        data = log({**text, "locations": based}, originalUriBaseIds=bases)
        assert one(data, tmp_path).file == "s/a.py"
        bare = {"ROOT": {"uri": tmp_path.as_uri()}, "SRC": {"uri": "s", "uriBaseId": "ROOT"}}
        data = log({**text, "locations": based}, originalUriBaseIds=bare)
        assert one(data, tmp_path).file == "s/a.py"
        assert one(log({**text, "locations": based})).file == "a.py"
        indexed = [{"physicalLocation": {"artifactLocation": {"index": 0}}}]
        data = log({**text, "locations": indexed}, artifacts=[{"location": {"uri": "b.py"}}])
        assert one(data).file == "b.py"

    def test_tolerant(self) -> None:
        """A byte order mark, nulls for absent lists and unknown properties are no trouble."""
        result = {"message": {"text": "m"}, "locations": None, "suppressions": None, "novel": {}}
        assert one(b"\xef\xbb\xbf" + log(result, invocations=None)).message == "m"

    @pytest.mark.parametrize(
        "properties",
        [
            {"severity": "info", "category": "lint", "confidence": "low", "evidence": "theirs"},
            {"severity": 8, "category": ["a"], "confidence": 0.9, "evidence": {"k": 1}},
            {"remediation": None, "security-severity": {"score": 1}, "securitySeverity": "9.8"},
            {"surefoot/severity": 8, "surefoot/confidence": 0.9, "surefoot/evidence": []},
        ],
    )
    def test_properties_of_other_tools_are_theirs(self, properties: dict[str, Any]) -> None:
        """A bag may hold anything: only our own keys count, of our own type, on a result and on a rule."""
        plain = {"ruleId": "R", "level": "error", "message": {"text": "m"}}
        rules = [{"id": "R", "properties": properties}]
        told = one(log({**plain, "properties": properties}, rules=rules))
        assert told == one(log(plain))
        assert (told.severity, told.confidence) == (Severity.HIGH, "high")

    @pytest.mark.parametrize(
        ("invocation", "failures", "remarks"),
        [
            ({}, (), ()),
            ({"executionSuccessful": True, "exitCode": 2}, (), ()),
            ({"executionSuccessful": False}, ("executionSuccessful is false",), ()),
            ({"executionSuccessful": False, **EXECUTION["warning"]}, ("it said",), ()),
            ({"executionSuccessful": True, **EXECUTION["error"]}, ("it said",), ()),
            ({"executionSuccessful": True, **EXECUTION["warning"]}, (), ()),
            ({"executionSuccessful": True, **EXECUTION["none"]}, (), ()),
            ({"executionSuccessful": True, **EXECUTION[None]}, (), ()),
            ({"executionSuccessful": True, **CONFIGURATION}, (), ("it said",)),
        ],
    )
    def test_what_invocations_say_of_themselves(
        self, invocation: dict[str, Any], failures: tuple[str, ...], remarks: tuple[str, ...]
    ) -> None:
        """An error while it ran has left results out; a warning, or how a linter ends that has found something, has not."""
        said = read_sarif(log(invocations=[invocation]))
        assert (said.failures, said.remarks) == (failures, remarks)

    def test_identity_without_the_tree(self) -> None:
        """A foreign fingerprint makes ours independent of lines; without any, the message does."""
        marks = {"partialFingerprints": {"primaryLocationLineHash": "abc:1"}, "ruleId": "R"}
        first, second = (
            one(log({"message": {"text": "m"}, "locations": at("a.py", line), **marks}))
            for line in (1, 9)
        )
        assert first.fingerprint == second.fingerprint

    def test_identity_with_the_tree(self, tmp_path: Path) -> None:
        """With the tree a log of ruff's gives the fingerprints that the auditor gives."""
        (tmp_path / "a.py").write_text("import os\n")
        data = log(
            {"ruleId": "F401", "message": {"text": "said otherwise"}, "locations": at("a.py")}
        )
        data = data.replace(b'"Tool"', b'"ruff"')
        raw = Raw(rule="F401", file="a.py", line=1, column=8, message="unused")
        (own,) = findings_of("ruff", [raw], tmp_path)
        assert one(data, tmp_path).fingerprint == own.fingerprint
        assert one(data, tmp_path).severity is Severity.LOW


def audit_of(tmp_path: Path) -> Audit:
    (tmp_path / "a:b ü.py").write_text("import os\n")
    raws = [
        Raw(rule="F401", file="a:b ü.py", line=1, column=8, message="unused", remediation="r"),
        Raw(rule="X", file="", message="nowhere \ud800", confidence="low"),
        Raw(rule="X", file="gone.py", line=3, column=2, message="three"),
    ]
    findings = findings_of("ruff", raws, tmp_path)
    key = Raw(rule="aws", file="k", line=1, column=1, message="key", identity="h", evidence="")
    return Audit(
        results=(
            AuditorResult(tool="ruff", state=AuditorState.OK, findings=findings),
            AuditorResult(
                tool="secrets", state=AuditorState.OK, findings=findings_of("secrets", [key], None)
            ),
            AuditorResult(tool="mypy", state=AuditorState.MISSING, message="is not installed"),
        ),
        baseline=(findings[0].fingerprint,),
    )


class TestOutside:
    @pytest.mark.parametrize("way", ["absolute", "link", "folder"])
    def test_no_line_is_read_outside_of_the_tree(self, tmp_path: Path, way: str) -> None:
        """Neither by its path nor through a link; such a finding has no text of the file."""
        root, key = tmp_path / "tree", tmp_path / "far" / "key.txt"
        root.mkdir()
        key.parent.mkdir()
        key.write_text("s3cr3t\n")
        (root / "link.txt").symlink_to(key)
        (root / "far").symlink_to(key.parent)
        uri = {"absolute": str(key), "link": "link.txt", "folder": "far/key.txt"}[way]
        found = one(log({"message": {"text": "x"}, "ruleId": "r", "locations": at(uri)}), root)
        key.unlink()
        gone = one(log({"message": {"text": "x"}, "ruleId": "r", "locations": at(uri)}), root)
        assert found == gone
        assert found.evidence == ""

    @pytest.mark.parametrize("uri", ["loop.py", "loop.py/a.py", "a%00.py", "//[", "%2F%2F["])
    def test_a_name_that_leads_to_no_file_has_no_lines(self, tmp_path: Path, uri: str) -> None:
        """A loop of links, a byte that no name holds, an address that is none: the finding is told all the same."""
        (tmp_path / "loop.py").symlink_to("loop.py")
        result = {"message": {"text": "x"}, "ruleId": "r", "locations": at(uri)}
        found = one(log(result), tmp_path)
        assert (found.rule, found.evidence) == ("r", "")


class TestWriting:
    def test_valid_against_the_schema(self, tmp_path: Path) -> None:
        """Every log that we write holds to the standard's own schema."""
        data = json.loads(write_sarif(audit_of(tmp_path)))
        Draft4Validator(SCHEMA).validate(data)
        Draft4Validator(SCHEMA).validate(json.loads(write_sarif(Audit(results=()))))

    def test_broken_tools_stay_broken(self, tmp_path: Path) -> None:
        """A tool that gave no answer is a run that failed, not a run without results."""
        log_ = read_sarif(write_sarif(audit_of(tmp_path)))
        assert log_.tools == ("ruff", "secrets", "mypy")
        assert log_.failures == ("is not installed",)

    def test_baseline_state(self, tmp_path: Path) -> None:
        """Accepted findings are `unchanged`, the others `new`."""
        runs = json.loads(write_sarif(audit_of(tmp_path)))["runs"]
        states = [r["baselineState"] for run in runs for r in run["results"]]
        assert sorted(states) == ["new", "new", "new", "unchanged"]

    def test_round_trip(self, tmp_path: Path) -> None:
        """What we wrote we read again with and without the tree, text that is no text included."""
        audit = audit_of(tmp_path)
        written = write_sarif(audit)
        assert written == write_sarif(audit)
        original = {f.fingerprint: f for r in audit.results for f in r.findings}
        for root in (None, tmp_path):
            read = {f.fingerprint: f for f in sarif_to_findings(written, root=root)}
            assert read.keys() == original.keys()
            for mark, finding in read.items():
                assert finding == original[mark]
