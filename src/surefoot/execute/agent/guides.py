"""What a repository tells those who work on it: guides at its root, and those of the folders that are worked on.

As the convention of AGENTS.md has it, the guide that is nearest to a file goes first (https://agents.md). They are read
from the base, so that no turn writes its own, and are shown as data.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from surefoot.execute.agent.prompt import Taken, cut
from surefoot.kernel.ports import Trees
from surefoot.values import TreeId

_ROOT: Final = ("AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", ".github/CONTRIBUTING.md")
_NESTED: Final = ("AGENTS.md", "CLAUDE.md")
"""Of a folder that has both, the first."""
_MOST_NESTED: Final = 4
_CHARACTERS: Final = 3_000
"""Of all of them."""
_PATHS: Final = frozenset({"file_read", "file_edit", "lsp"})
"""Tools whose parameter `path` is what they work on."""


class Guides:
    """The guides of one tree."""

    def __init__(self, trees: Trees, tree: TreeId, redact: Callable[[str], str] = str) -> None:
        """`redact` hides secrets before a guide is cut."""
        self._trees, self._tree, self._redact = trees, tree, redact
        files = frozenset(trees.files(tree))
        self._root = [path for path in _ROOT if path in files]
        self._nested: dict[str, str] = {}
        for path in sorted(files):
            pure = PurePosixPath(path)
            if pure.name in _NESTED and len(pure.parts) > 1:
                self._nested.setdefault(str(pure.parent), path)

    def about(self, worked: Sequence[str]) -> str:
        """The guides for files, those worked on first and nearest to them first; a text that two share once."""
        nested = list(dict.fromkeys(g for path in worked for g in self._above(path)))
        texts: dict[str, str] = {}
        for path in (*nested[:_MOST_NESTED], *self._root):
            data = self._trees.read(self._tree, path)
            if data is not None:
                texts.setdefault(self._redact(data.decode(errors="replace").strip()), path)
        each = _CHARACTERS // max(1, len(texts))
        return "\n\n".join(f"{path}:\n{cut(text, each)}" for text, path in texts.items() if text)

    def _above(self, path: str) -> Iterator[str]:
        """The guides of a folder, or of a file's, and of those around it, from the inside out."""
        pure = PurePosixPath(path)
        for folder in (pure, *pure.parents):
            guide = self._nested.get(str(folder))
            if guide is not None:
                yield guide


def worked_on(targets: Sequence[str], taken: Sequence[Taken]) -> tuple[str, ...]:
    """The files of a step: what it is to change, then what was read and changed, the last first."""
    found = list(targets)
    for one in reversed(taken):
        found += [*one.outcome.changed, *([one.path] if one.call.tool in _PATHS else [])]
    return tuple(dict.fromkeys(path for path in found if path))
