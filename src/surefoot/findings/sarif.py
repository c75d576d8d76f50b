"""Read any SARIF 2.1.0 log (OASIS, https://docs.oasis-open.org/sarif/sarif/v2.1.0/) as findings.

Tolerant where the standard gives freedom: unknown properties, any order, rules by index or by id, messages by id,
base URIs. Not tolerant where a guess could hide a result: another version, another type than the standard's, a log that
is too large. Results that are passes, suppressed or gone (`baselineState: absent`) are not findings.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from surefoot.errors import UsageError
from surefoot.findings.fingerprint import LENGTH
from surefoot.findings.raw import Raw, findings_of, relative
from surefoot.findings.severity import Category, cvss
from surefoot.values import Finding, Severity

VERSION: Final = "2.1.0"
MAX_BYTES: Final = 64 * 1024**2
MAX_RESULTS: Final = 100_000
FINGERPRINT: Final = "surefoot/v1"
"""Our key in `partialFingerprints`."""

_OWN_FINGERPRINT: Final = re.compile(f"[0-9a-f]{{{LENGTH}}}")

Problem: TypeAlias = Literal["empty", "huge", "not-json", "not-sarif", "version"]


class SarifError(UsageError):
    """The data is not a SARIF 2.1.0 log."""

    code: ClassVar[str] = "sarif"

    def __init__(self, problem: Problem, detail: str) -> None:
        super().__init__(problem, detail)
        self.problem, self.detail = problem, detail

    def __str__(self) -> str:
        return f"not a SARIF {VERSION} log ({self.problem}): {self.detail}"


def _absent(value: object) -> object:
    # Some writers say null where the standard has them leave the property out.
    return () if value is None else value


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


def _own(value: object) -> object:
    # A bag may hold anything (SARIF 3.8), so another type than ours is somebody else's property and no error.
    return value if isinstance(value, str) else None


def _score(value: object) -> object:
    return value if isinstance(value, float | int | str) else None


_Own: TypeAlias = Annotated[str | None, BeforeValidator(_own)]


class _Text(_Part):
    text: str | None = None
    id: str | None = None
    arguments: Annotated[tuple[str, ...], BeforeValidator(_absent)] = ()


class _Bag(_Part):
    # By alias alone: other tools have a `severity` or a `confidence` of their own, in their own words.
    model_config = ConfigDict(populate_by_name=False)

    security_severity: Annotated[float | str | None, BeforeValidator(_score)] = Field(
        default=None, alias="security-severity"
    )
    tags: Annotated[tuple[str, ...], BeforeValidator(_absent)] = ()
    severity: _Own = Field(default=None, alias="surefoot/severity")
    category: _Own = Field(default=None, alias="surefoot/category")
    confidence: _Own = Field(default=None, alias="surefoot/confidence")
    evidence: _Own = Field(default=None, alias="surefoot/evidence")
    remediation: _Own = Field(default=None, alias="surefoot/remediation")


class _Configuration(_Part):
    level: str | None = None


class _Rule(_Part):
    id: str
    short_description: _Text | None = None
    full_description: _Text | None = None
    help: _Text | None = None
    help_uri: str | None = None
    message_strings: dict[str, _Text] | None = None
    default_configuration: _Configuration | None = None
    properties: _Bag | None = None


class _Component(_Part):
    name: str = ""
    rules: Annotated[tuple[_Rule, ...], BeforeValidator(_absent)] = ()


class _Tool(_Part):
    driver: _Component
    extensions: Annotated[tuple[_Component, ...], BeforeValidator(_absent)] = ()


class _ComponentReference(_Part):
    index: int = -1


class _RuleReference(_Part):
    id: str | None = None
    index: int = -1
    tool_component: _ComponentReference | None = None


class _Artifact(_Part):
    uri: str | None = None
    uri_base_id: str | None = None
    index: int = -1


class _ArtifactEntry(_Part):
    location: _Artifact | None = None


class _Region(_Part):
    start_line: int | None = None
    start_column: int | None = None
    snippet: _Text | None = None


class _PhysicalLocation(_Part):
    artifact_location: _Artifact | None = None
    region: _Region | None = None


class _Location(_Part):
    physical_location: _PhysicalLocation | None = None


class _Suppression(_Part):
    status: str | None = None


class _Result(_Part):
    rule_id: str | None = None
    rule_index: int = -1
    rule: _RuleReference | None = None
    level: str | None = None
    kind: str | None = None
    message: _Text = _Text()
    locations: Annotated[tuple[_Location, ...], BeforeValidator(_absent)] = ()
    suppressions: Annotated[tuple[_Suppression, ...], BeforeValidator(_absent)] = ()
    baseline_state: str | None = None
    fingerprints: dict[str, str] | None = None
    partial_fingerprints: dict[str, str] | None = None
    properties: _Bag | None = None


class _Notification(_Part):
    level: str | None = None
    message: _Text = _Text()


_Notifications: TypeAlias = Annotated[tuple[_Notification, ...], BeforeValidator(_absent)]


class _Invocation(_Part):
    execution_successful: bool = True
    tool_execution_notifications: _Notifications = ()
    tool_configuration_notifications: _Notifications = ()


class _Run(_Part):
    tool: _Tool
    artifacts: Annotated[tuple[_ArtifactEntry, ...], BeforeValidator(_absent)] = ()
    original_uri_base_ids: dict[str, _Artifact] | None = None
    invocations: Annotated[tuple[_Invocation, ...], BeforeValidator(_absent)] = ()
    results: tuple[_Result, ...] | None = None
    """None where the tool did not look (SARIF 2.1.0, 3.14.23): it failed before, or only tells of its rules."""


class _Log(_Part):
    runs: tuple[_Run, ...]


class _Head(_Part):
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifLog:
    """What a log says, in the order of its runs."""

    tools: tuple[str, ...]
    """Lower-case names of the runs' drivers."""
    results: tuple[tuple[str, Raw], ...]
    """(tool, result)."""
    failures: tuple[str, ...]
    """What invocations say of themselves that did not end well, or left results out; runs that have no results, not even none."""
    remarks: tuple[str, ...] = ()
    """Errors in a tool's configuration, or in what it was given to look at, that it went on in spite of."""


def read_sarif(data: bytes, *, root: Path | None = None, max_bytes: int = MAX_BYTES) -> SarifLog:
    """Read a log; `root` turns absolute addresses below it into paths of the tree.

    Raises:
        SarifError: The data is empty, too large, not JSON, not SARIF, or of another version.
    """
    if not data.strip():
        raise SarifError("empty", "it holds nothing; let the tool write its report again")
    if len(data) > max_bytes:
        raise SarifError("huge", f"{len(data)} bytes, over {max_bytes}; split it by run")
    log = _parse(data.removeprefix(b"\xef\xbb\xbf"))
    count = sum(len(run.results or ()) for run in log.runs)
    if count > MAX_RESULTS:
        raise SarifError("huge", f"{count} results, over {MAX_RESULTS}; split it by run")
    invocations = [i for run in log.runs for i in run.invocations]
    return SarifLog(
        tools=tuple(_tool_name(run) for run in log.runs),
        results=tuple(
            (_tool_name(run), _raw(run, result, root))
            for run in log.runs
            for result in run.results or ()
            if _is_finding(result)
        ),
        failures=(
            *(said for i in invocations if (said := _failure(i)) is not None),
            *(f"{_tool_name(r)} gives no results" for r in log.runs if r.results is None),
        ),
        remarks=tuple(
            said for i in invocations for said in _errors(i.tool_configuration_notifications)
        ),
    )


def sarif_to_findings(
    data: bytes, *, root: Path | None = None, max_bytes: int = MAX_BYTES
) -> tuple[Finding, ...]:
    """The findings of a log, sorted within each tool.

    With the tree's `root` a finding of a tool that Surefoot runs itself has the fingerprint that Surefoot gives it.

    Raises:
        SarifError: As `read_sarif`.
    """
    by_tool: dict[str, list[Raw]] = {}
    for tool, raw in read_sarif(data, root=root, max_bytes=max_bytes).results:
        by_tool.setdefault(tool, []).append(raw)
    return tuple(
        finding for tool, raws in by_tool.items() for finding in findings_of(tool, raws, root)
    )


def _parse(data: bytes) -> _Log:
    try:
        head = _Head.model_validate_json(data)
    except ValidationError as error:
        raise _invalid(error) from error
    if head.version != VERSION:
        raise SarifError("version", f"version {head.version!r}; have the tool write {VERSION}")
    try:
        return _Log.model_validate_json(data)
    except ValidationError as error:
        raise _invalid(error) from error


def _invalid(error: ValidationError) -> SarifError:
    first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        return SarifError("not-json", first["msg"])
    place = ".".join(str(part) for part in first["loc"]) or "the whole"
    return SarifError("not-sarif", f"{place}: {first['msg']}")


def _tool_name(run: _Run) -> str:
    return run.tool.driver.name.strip().lower() or "unnamed"


def _failure(invocation: _Invocation) -> str | None:
    """What went wrong in an invocation; None when its results can be taken for all that there are.

    An exit code says nothing: most linters end with one of their own when they have found something.
    """
    notes = invocation.tool_execution_notifications
    # An error has halted the analysis, or made its results incorrect or incomplete (SARIF 3.58.6).
    errors = list(_errors(notes))
    if invocation.execution_successful:
        return errors[0] if errors else None
    said = errors or [n.message.text for n in notes if n.message.text]
    return said[0] if said else "executionSuccessful is false"


def _errors(notes: Sequence[_Notification]) -> Iterator[str]:
    return (n.message.text or "an error without words" for n in notes if n.level == "error")


def _is_finding(result: _Result) -> bool:
    # `open` and `review` are results that somebody still has to look at (SARIF 3.27.9).
    if result.kind not in {None, "fail", "open", "review"} or result.baseline_state == "absent":
        return False
    # A suppression without a status is accepted (SARIF 3.35.3).
    return not any(s.status in {None, "accepted"} for s in result.suppressions)


def _raw(run: _Run, result: _Result, root: Path | None) -> Raw:
    rule_id, rule = _rule(run, result)
    bag = result.properties or _Bag()
    location = next(
        (x.physical_location for x in result.locations if x.physical_location), _PhysicalLocation()
    )
    region = location.region or _Region()
    file = _file(run, location.artifact_location, root)
    line = max(region.start_line or 0, 0) if file else 0
    return Raw(
        rule=rule_id,
        file=file,
        line=line,
        column=max(region.start_column or 1, 1) if line else 0,
        message=_message(result, rule),
        level=_level(result, rule),
        severity=_severity(bag, rule),
        category=_category(bag, rule),
        remediation=bag.remediation or _remediation(rule),
        confidence=_confidence(bag),
        fingerprint=_own_fingerprint(result),
        identity=_identity(result, region, has_lines=root is not None and line > 0),
        evidence=_evidence(bag, region),
    )


def _rule(run: _Run, result: _Result) -> tuple[str, _Rule | None]:
    reference = result.rule or _RuleReference()
    rule_id = result.rule_id or reference.id
    index = result.rule_index if result.rule_index >= 0 else reference.index
    component = reference.tool_component
    rules: Sequence[_Rule] = run.tool.driver.rules
    if component is not None and 0 <= component.index < len(run.tool.extensions):
        rules = run.tool.extensions[component.index].rules
    if 0 <= index < len(rules):
        return rule_id or rules[index].id, rules[index]
    everything = [run.tool.driver, *run.tool.extensions]
    # A hierarchical id `CA1000/1` belongs to the rule `CA1000` (SARIF 3.27.5).
    names = {rule_id, (rule_id or "").split("/")[0]}
    found = next((r for c in everything for r in c.rules if r.id in names), None)
    return rule_id or "unnamed", found


def _message(result: _Result, rule: _Rule | None) -> str:
    text = result.message.text
    if text is None and rule is not None and rule.message_strings:
        known = rule.message_strings.get(result.message.id or "")
        text = known.text if known else None
    if text is None and rule is not None:
        text = next((t.text for t in (rule.short_description, rule.full_description) if t), None)
    for number, argument in enumerate(result.message.arguments):
        text = (text or "").replace(f"{{{number}}}", argument)
    return text or "no message"


def _level(result: _Result, rule: _Rule | None) -> str:
    if result.level is not None:
        return result.level
    configured = rule.default_configuration if rule else None
    return (configured.level if configured else None) or "warning"


def _severity(bag: _Bag, rule: _Rule | None) -> Severity | None:
    if bag.severity in {s.value for s in Severity}:
        return Severity(bag.severity)
    properties = rule.properties if rule else None
    for score in (bag.security_severity, properties.security_severity if properties else None):
        try:
            if score is not None:
                return cvss(float(score))
        except ValueError:
            continue
    return None


_CATEGORIES: Final[Mapping[str, Category]] = {
    "typing": "typing",
    "lint": "lint",
    "tests": "tests",
    "integration": "integration",
    "policy": "policy",
    "security": "security",
}


def _category(bag: _Bag, rule: _Rule | None) -> Category | None:
    if bag.category is not None and bag.category in _CATEGORIES:
        return _CATEGORIES[bag.category]
    properties = (rule.properties if rule else None) or _Bag()
    is_security = "security" in (*bag.tags, *properties.tags) or any(
        b.security_severity is not None for b in (bag, properties)
    )
    return "security" if is_security else None


def _remediation(rule: _Rule | None) -> str:
    if rule is None:
        return ""
    return rule.help_uri or ((rule.help.text or "") if rule.help else "")


def _confidence(bag: _Bag) -> Literal["high", "medium", "low"]:
    match bag.confidence:
        case "medium":
            return "medium"
        case "low":
            return "low"
        case _:
            return "high"


def _evidence(bag: _Bag, region: _Region) -> str | None:
    if bag.evidence is not None:
        return bag.evidence
    return region.snippet.text if region.snippet else None


def _own_fingerprint(result: _Result) -> str | None:
    mark = (result.partial_fingerprints or {}).get(FINGERPRINT, "")
    return mark if _OWN_FINGERPRINT.fullmatch(mark) else None


def _identity(result: _Result, region: _Region, *, has_lines: bool) -> str | None:
    """What stands for the place when the tree's own lines are not at hand, best first."""
    if has_lines:
        return None
    for marks in (result.fingerprints, result.partial_fingerprints):
        if marks:
            return " ".join(f"{key}={marks[key]}" for key in sorted(marks))
    return region.snippet.text if region.snippet and region.snippet.text else None


def _file(run: _Run, artifact: _Artifact | None, root: Path | None) -> str:
    if artifact is None:
        return ""
    if artifact.uri is None and 0 <= artifact.index < len(run.artifacts):
        artifact = run.artifacts[artifact.index].location or artifact
    uri = "".join(_with_bases(run, artifact))
    try:
        parts = urlsplit(uri)
    except ValueError:  # no address, so no path of the tree
        return uri
    if parts.scheme not in {"", "file"}:
        return uri
    path = unquote(parts.path)
    if root is not None:
        path = relative(path, root)
    return path.removeprefix("./")


def _with_bases(run: _Run, artifact: _Artifact) -> Iterator[str]:
    """The parts of the address, outermost base first; a base that names none is the tree itself."""
    bases = run.original_uri_base_ids or {}
    chain = [artifact.uri or ""]
    seen: set[str] = set()
    name = artifact.uri_base_id
    while name is not None and name in bases and name not in seen and "://" not in chain[-1]:
        seen.add(name)
        base = bases[name].uri or ""
        # A base ends with a slash (SARIF 3.14.14); not every writer knows.
        chain.append(base if base.endswith("/") or not base else f"{base}/")
        name = bases[name].uri_base_id
    return reversed(chain)
