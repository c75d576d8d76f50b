"""The `Critic` port over syntax trees."""

from collections.abc import Callable, Sequence
from pathlib import Path

from surefoot.judgements import Boundary
from surefoot.preflight.boundaries import boundaries, claims_broken
from surefoot.preflight.code import Code

_PAGES = (".md", ".markdown")


class SyntaxCritic:
    """Looks at Python code and at the Markdown pages that speak of it; tests are neither side of a boundary."""

    def __init__(self, is_test: Callable[[str], bool]) -> None:
        self._is_test = is_test

    def concerns(self, path: str) -> bool:
        """Whether a change of this file can change a boundary."""
        return path.endswith((".py", *_PAGES)) and not self._is_test(path)

    def look(
        self,
        before: Path,
        after: Path,
        files: tuple[Sequence[str], Sequence[str]],
        changed: Sequence[str],
    ) -> tuple[Boundary, ...]:
        """As the port says."""
        old, new = (
            Code(root, [f for f in there if not self._is_test(f)])
            for root, there in zip((before, after), files, strict=True)
        )
        pages = {f: text for f in files[1] if f.endswith(_PAGES) and (text := new.text(f))}
        return (*boundaries(old, new, changed), *claims_broken(old, new, pages))
