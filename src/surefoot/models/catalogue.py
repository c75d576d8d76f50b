"""What is known of models: context, price, abilities and scores, as data with its source and date.

The file `catalogue.toml` is written by `tools/catalogue.py`; `surefoot.toml` may add cards and correct them. A model that
nobody listed is admitted with conservative values (SPEC C4).
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from surefoot.errors import SettingsError
from surefoot.models.address import is_here, why_no_server
from surefoot.vocabulary import Tier

Dimension: TypeAlias = Literal[
    "coding", "debugging", "research", "reasoning", "speed", "long_context", "instruction"
]
UNKNOWN_SCORE: Final = 50.0
_UNKNOWN_CONTEXT: Final = 32_768
_UNKNOWN_USD: Final = (20.0, 160.0)
_IN_PROCESS: Final = ("local", "scripted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One model."""

    name: str
    """As after `--model`: `provider/name`, or `embedded`."""
    provider: str
    tier: Tier = Tier.STANDARD
    context_tokens: int = _UNKNOWN_CONTEXT
    prompt_usd: float = _UNKNOWN_USD[0]
    """For a million tokens."""
    completion_usd: float = _UNKNOWN_USD[1]
    tools: bool = False
    """It takes tool definitions and calls them."""
    schema: bool = False
    """Its answer can be held to a JSON Schema."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """0..100 by dimension; one that is missing is unknown and counts 50."""
    base_url: str | None = None
    """Of a server of the user's own that it runs on; the provider's when None."""
    listed: bool = True
    """The catalogue or the settings know it."""

    def score(self, dimension: str) -> float:
        """0..100."""
        return self.scores.get(dimension, UNKNOWN_SCORE)

    @property
    def price_usd(self) -> float:
        """One number to compare by: three prompt tokens for each one answered."""
        return (3 * self.prompt_usd + self.completion_usd) / 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All cards by name."""

    version: str
    source: str
    cards: Mapping[str, Card]

    def card(self, name: str) -> Card:
        """The card of a model; conservative values for one that nobody listed."""
        return self.cards.get(name) or unlisted(name)

    def corrected(self, cards: "Iterable[CardForm]") -> "Catalogue":
        """The same with cards added, or single fields of them replaced, as the settings say."""
        merged = dict(self.cards)
        for given in cards:
            merged[given.name] = given.onto(self.card(given.name))
        return replace(self, cards=merged)


def unlisted(name: str) -> Card:
    """A model that nobody listed: every score 50, a small context, and a price that errs upwards."""
    free = provider_of(name) in _IN_PROCESS
    card = Card(name=name, provider=provider_of(name), listed=False)
    return replace(card, prompt_usd=0.0, completion_usd=0.0) if free else card


def provider_of(name: str) -> str:
    """The provider that a model's name says."""
    if name == "embedded":
        return "local"
    if name.startswith("scripted:"):
        return "scripted"
    return name.partition("/")[0]


@cache
def load_catalogue() -> Catalogue:
    """The catalogue that is shipped."""
    return parse_catalogue(files("surefoot.models").joinpath("catalogue.toml").read_text())


def parse_catalogue(text: str) -> Catalogue:
    """A catalogue from TOML.

    Raises:
        SettingsError: It is not of the form; names the place.
    """
    try:
        form = _CatalogueForm.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the model catalogue is not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"the model catalogue: {place}: {first['msg']}") from None
    cards = (given.onto(unlisted(given.name)) for given in form.model)
    return Catalogue(
        version=form.version, source=form.source, cards={card.name: card for card in cards}
    )


_Rate = Annotated[float, Field(ge=0, le=100)]
_Usd = Annotated[float, Field(ge=0)]


class CardForm(BaseModel):
    """A card as it is written in TOML; what is left out stays as it was."""

    # Its schema is part of those that hold it; one of its own would be made at every start.
    # It is kept with a run, and read again as it was written in the file.
    model_config = ConfigDict(
        extra="forbid", frozen=True, defer_build=True, serialize_by_alias=True
    )

    name: Annotated[str, Field(min_length=1)]
    provider: str | None = None
    tier: Tier | None = None
    context_tokens: Annotated[int, Field(gt=0)] | None = None
    prompt_usd: _Usd | None = None
    completion_usd: _Usd | None = None
    tools: bool | None = None
    schema_: bool | None = Field(default=None, alias="schema")
    scores: Mapping[Dimension, _Rate] = {}
    base_url: str | None = None

    @model_validator(mode="after")
    def _has_a_server(self) -> "CardForm":
        if self.base_url is None:
            return self
        if provider_of(self.name) in _IN_PROCESS:
            raise ValueError(f"{self.name} runs on no server; leave base_url out")
        problem = why_no_server(self.base_url)
        if problem is not None:
            raise ValueError(f"base_url: {problem}")
        return self

    def onto(self, before: Card) -> Card:
        """The card with what is written here."""
        plain = self.model_dump(exclude_none=True, by_alias=True, exclude={"scores"})
        scores: dict[str, float] = dict(before.scores)
        scores.update((str(name), rate) for name, rate in self.scores.items())
        if self.base_url is not None and is_here(self.base_url) and not before.listed:
            # A server on this machine costs nothing unless somebody says so.
            plain = {"prompt_usd": 0.0, "completion_usd": 0.0, **plain}
        return replace(before, **plain, scores=scores, listed=True)


class _CatalogueForm(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    version: str
    source: str
    model: tuple[CardForm, ...]


TIERS: Final[Sequence[Tier]] = (Tier.LIGHT, Tier.STANDARD, Tier.HEAVY)
"""From weak to strong."""
