"""Which finding has which mechanical fixes, and the candidates that come of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from surefoot.codec import digest_of
from surefoot.execute.fixes import flow, security, types, values
from surefoot.execute.fixes.oldest import Version
from surefoot.execute.fixes.rewrite import Rewrite, Rewriter
from surefoot.execute.source import Source, TextEdit, apply, overlap, parse
from surefoot.values import Candidate, FileEdit, Finding, Mode

REWRITERS: Final[Mapping[tuple[str, str], Rewriter]] = {
    ("ruff", "E722"): flow.bare_except,
    ("ruff", "B904"): flow.raise_from,
    ("ruff", "F841"): flow.unused_variable,
    ("ruff", "B006"): values.mutable_default,
    ("ruff", "E711"): values.none_comparison,
    ("ruff", "F401"): values.reexport,
    ("ruff", "S506"): values.yaml_load,
    ("ruff", "RUF013"): types.implicit_optional,
    ("ruff", "S324"): security.weak_digest,
    ("ruff", "PLE0605"): security.exported_names,
    ("bandit", "B324"): security.weak_digest,
    ("bandit", "B506"): values.yaml_load,
    ("mypy", "no-untyped-def"): types.none_return,
    ("mypy", "assignment"): types.implicit_optional,
    ("mypy", "unused-ignore"): types.unused_ignore,
    ("dead-code", "unreachable-code"): flow.unreachable,
}


def candidate(
    generator: str, texts: Mapping[str, str], description: str, prior: float
) -> Candidate:
    """A candidate of new texts by path."""
    edits = tuple(FileEdit(path=path, text=texts[path]) for path in sorted(texts))
    return Candidate(
        candidate_id=digest_of(edits),
        generator=generator,
        edits=edits,
        description=description,
        prior=prior,
    )


def parts_of(whole: Candidate) -> list[Candidate]:
    """The same way in one file each, for a way that holds in some files only."""
    if len(whole.edits) < 2:  # noqa: PLR2004  # one file has no parts
        return []
    return [
        Candidate(
            candidate_id=digest_of((edit,)),
            generator=whole.generator,
            edits=(edit,),
            description=f"{whole.description}, in {edit.path} alone",
            prior=whole.prior,
        )
        for edit in whole.edits
    ]


def rewrites(
    texts: Mapping[str, str],
    findings: Sequence[Finding],
    mode: Mode,
    *,
    oldest: Version | None = None,
) -> list[Candidate]:
    """One candidate for each way of mending findings of one rule, over all their files.

    In `auto_fix_safe` only ways that are safe at every place are used, and no place is left to an unsafe one.
    `oldest` is the oldest Python that the project supports; what needs a newer one is not safe, nor where it is unknown.
    """
    ways: dict[str, dict[str, list[TextEdit]]] = {}
    about: dict[str, Rewrite] = {}
    sources = {path: source for path in texts if (source := _python(path, texts[path], oldest))}
    for finding in findings:
        source = sources.get(finding.file)
        rewriter = REWRITERS.get((finding.tool, finding.rule))
        for way in _ways(rewriter, source, finding):
            if mode is Mode.AUTO_SOLVE_FULL or way.is_safe:
                edits = ways.setdefault(way.name, {}).setdefault(finding.file, [])
                if not overlap(edits, way.edits):
                    edits += way.edits
                about.setdefault(way.name, way)
    found: list[Candidate] = []
    for name, by_file in ways.items():
        new = {path: apply(texts[path], edits) for path, edits in by_file.items()}
        if all(_python(path, text) for path, text in new.items()):
            found.append(candidate(f"fix:{name}", new, about[name].description, about[name].prior))
    return found


def _ways(rewriter: Rewriter | None, source: Source | None, finding: Finding) -> Iterator[Rewrite]:
    return iter(()) if rewriter is None or source is None else rewriter(source, finding)


def _python(path: str, text: str, oldest: Version | None = None) -> Source | None:
    return parse(path, text, oldest=oldest) if path.endswith((".py", ".pyi")) else None
