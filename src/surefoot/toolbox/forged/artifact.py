"""What is kept of a forged tool: a function with its contract, as a value whose digest is its name (SPEC D2)."""

from dataclasses import dataclass
from typing import Final, Literal

from surefoot.artifacts import Interface
from surefoot.codec import decode, encode
from surefoot.errors import UsageError
from surefoot.values import Digest, ToolSpec

KIND: Final = "tool"
"""Of the interfaces of forged tools."""
_SHOWN: Final = 200
"""Characters of an example in a prompt."""
OnError = Literal["return_error", "retry_once"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A call that must work before the tool is kept; it needs no repository."""

    input: str
    """Arguments, canonical JSON."""
    output: str
    """The result, canonical JSON."""
    files: tuple[tuple[str, str], ...] = ()
    """(path, text) of the files that the tool finds, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One version of a forged tool."""

    schema_version: int = 1
    name: str
    method: str
    """Also the name of its function."""
    purpose: str
    source: str
    """A module with that function; the standard library is all that it may import."""
    input_schema: str
    """JSON Schema of the arguments (an object), canonical JSON."""
    output_schema: str
    """JSON Schema of the result, canonical JSON."""
    capability: str
    """The class of work that it is for, e.g. `log_analysis`."""
    on_error: OnError = "return_error"
    """`retry_once`: what it was asked is tried a second time before the caller hears of a failure."""
    reads: tuple[str, ...] = ()
    """External data: patterns of the worktree's files that a result may rest on."""
    state: bool = False
    """It keeps state, which it shares with the other methods of its name."""
    examples: tuple[Example, ...]

    @property
    def interface(self) -> Interface:
        """What it serves."""
        return Interface(kind=KIND, name=self.name, method=self.method)

    def spec(self, artifact: Digest | None = None, note: str = "") -> ToolSpec:
        """What a model is told of it, as this version and with this note."""
        example = self.examples[0].input
        return ToolSpec(
            name=f"{self.name}.{self.method}",
            purpose=self.purpose,
            schema=self.input_schema,
            effect="read",
            example=example if len(example) <= _SHOWN else "{…}",
            artifact=artifact,
            note=note,
        )


def pack(artifact: Artifact) -> bytes:
    """The bytes by whose digest it is named."""
    return encode(artifact)


def unpack(data: bytes) -> Artifact:
    """The artifact of such bytes.

    Raises:
        UsageError: They are none.
    """
    try:
        return decode(Artifact, data)
    except ValueError as error:
        raise UsageError(f"not a forged tool: {error}") from None
