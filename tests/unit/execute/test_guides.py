"""The guides that a prompt shows are those of the files that are worked on."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from surefoot.execute.agent.guides import Guides, worked_on
from surefoot.execute.agent.prompt import Taken
from surefoot.policy.redaction import redact
from surefoot.values import Diff, ToolCall, ToolOutcome, TreeId

TREE = TreeId("t")
FILES = {
    "AGENTS.md": "root",
    "CONTRIBUTING.md": "contribute",
    "app/AGENTS.md": "app",
    "app/till/AGENTS.md": "till",
    "app/till/CLAUDE.md": "not read",
    "app/till/money.py": "",
    "web/CLAUDE.md": "web",
}


@dataclass
class Texts:
    """One tree that is only read."""

    texts: Mapping[str, str]

    def files(self, tree: TreeId) -> tuple[str, ...]:
        return tuple(sorted(self.texts))

    def read(self, tree: TreeId, path: str) -> bytes | None:
        return self.texts[path].encode() if path in self.texts else None

    def diff(self, before: TreeId, after: TreeId) -> Diff:
        raise NotImplementedError

    def overlay(self, tree: TreeId, source: TreeId, paths: Sequence[str]) -> TreeId:
        raise NotImplementedError

    def checkout(self, tree: TreeId) -> AbstractContextManager[Path]:
        raise NotImplementedError


def shown(*worked: str, files: Mapping[str, str] = FILES) -> list[str]:
    """Paths of the guides, in their order."""
    told = Guides(Texts(files), TREE).about(worked)
    return [part.partition(":\n")[0] for part in told.split("\n\n") if part]


def test_the_nearest_guide_goes_first() -> None:
    """From the file's own folder out to the root; of a folder that has two, AGENTS.md."""
    root = ["AGENTS.md", "CONTRIBUTING.md"]
    assert shown() == root
    near = ["app/till/AGENTS.md", "app/AGENTS.md", *root]
    assert shown("app/till/money.py") == near
    assert shown("app/till") == near
    assert shown("app/other.py") == ["app/AGENTS.md", *root]
    assert shown("application/till.py") == root
    assert shown("web/a.js", "app/till/money.py") == ["web/CLAUDE.md", *near]


def test_all_guides_together_are_bounded() -> None:
    """Four folders at most, and a cut text says so."""
    deep = {f"{'a/' * depth}AGENTS.md": f"{depth} " + "x" * 5_000 for depth in range(8)}
    told = Guides(Texts(deep), TREE).about(["a/a/a/a/a/a/a/b.py"])
    assert [p.count("/") for p in shown("a/a/a/a/a/a/a/b.py", files=deep)] == [7, 6, 5, 4, 0]
    assert len(told) < 3_500
    assert "characters left out" in told


def test_a_text_that_two_guides_share_stands_once() -> None:
    """Where it is nearest."""
    assert shown("a/b.py", files={"AGENTS.md": "same", "a/AGENTS.md": "same\n"}) == ["a/AGENTS.md"]


def test_what_is_worked_on_is_what_the_step_names_and_what_was_touched_last() -> None:
    """Paths of tools that take one, and whatever a call changed."""

    def call(tool: str, path: str, *changed: str) -> Taken:
        made = ToolCall(tool=tool, parameters=f'{{"path":"{path}"}}')
        return Taken(call=made, outcome=ToolOutcome(ok=True, output="", changed=changed), tree=TREE)

    taken = [call("file_read", "a.py"), call("ripgrep", "b"), call("shell", "", "c.py")]
    assert worked_on(("z.py", "a.py"), taken) == ("z.py", "a.py", "c.py")
    assert worked_on((), taken) == ("c.py", "a.py")


def test_a_secret_in_a_guide_is_hidden_before_the_guide_is_cut() -> None:
    """Half of one looks like none."""
    token = f"ghp_{'a1B2' * 9}"
    text = f"{'x' * 1_480} {token} {'y' * 3_000}"
    assert redact(token) != token
    told = Guides(Texts({"AGENTS.md": text}), TREE, redact).about(())
    assert "left out" in told
    assert "ghp_" not in told
