"""The files that a run leaves beside its ledger; each is a fold of the ledger, and so can be held against it later."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from surefoot.codec import canonical, encode
from surefoot.events.envelope import Recorded
from surefoot.findings import write_sarif
from surefoot.records import receipt, replay_lines
from surefoot.report import read_story, render_report, summarise_run
from surefoot.values import Diff

SUMMARY: Final = "summary.json"
REPORT: Final = "report.md"


def documents_of(
    events: Sequence[Recorded], diff: Diff | None, folder: Path, redact: Callable[[str], str]
) -> Mapping[str, bytes]:
    """Every document by its name, the summary last; `folder` is where they are kept, `redact` hides secrets in the diff."""
    story = read_story(events[0].trace_id, events)
    found = {
        REPORT: render_report(story, diff, redact).encode(),
        "RECEIPT.json": canonical(receipt(events)) + b"\n",
        "REPLAY.jsonl": b"".join(canonical(line) + b"\n" for line in replay_lines(events)),
    }
    head = story.state.head_tree
    if head is not None and head in story.state.audits:
        found["findings.sarif"] = write_sarif(story.state.audits[head].audit)
    summary = summarise_run(story, diff.paths if diff else (), str(folder / REPORT))
    return {**found, SUMMARY: encode(summary) + b"\n"}
