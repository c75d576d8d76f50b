"""What a check holds against a document."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One claim that does not hold, where it stands, and how to mend it."""

    rule: str
    """Kebab case, e.g. `missing-callee`; listed in the reference."""
    file: str
    line: int
    """1-based line of the document."""
    message: str
    mend: str

    @property
    def told(self) -> str:
        """One line for people."""
        return f"{self.file}:{self.line}: {self.rule}: {self.message}; {self.mend}"
