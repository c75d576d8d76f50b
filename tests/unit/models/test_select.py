"""Which models may be asked, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.models.catalogue import Card, load_catalogue
from surefoot.models.select import Denial, Needs, Rules, Scored, Standing, needs_of, select
from surefoot.values import Complexity, Profile, Tier, UnitType

FIX = Needs(unit_type=UnitType.FIX, weights={"coding": 1.0}, context_tokens=4096)


def card(name: str, coding: float = 50.0, usd: float = 1.0, tier: Tier = Tier.STANDARD) -> Card:
    """A card with what matters here."""
    return Card(
        name=name,
        provider=name.partition("/")[0],
        tier=tier,
        prompt_usd=usd,
        completion_usd=usd,
        scores={"coding": coding},
    )


def order(chain: tuple[Scored, ...]) -> list[str]:
    """Names in their order."""
    return [s.card.name for s in chain]


def test_the_better_model_comes_first_and_near_ones_by_price() -> None:
    """Within two points the cheaper is taken; beyond them the score decides."""
    cards = [card("a/best", 80, 9.0), card("a/near", 78.5, 1.0), card("a/far", 77, 0.5)]
    assert order(select(FIX, cards, Rules(), Standing()).chain) == ["a/near", "a/best", "a/far"]


def test_unknown_scores_count_fifty() -> None:
    """A model that nobody rated stands in the middle."""
    cards = [card("a/low", 49, 1.0), Card(name="b/new", provider="b"), card("a/high", 60, 1.0)]
    chain = select(FIX, cards, Rules(), Standing()).chain
    assert next(s for s in chain if s.card.name == "b/new").capability == 50.0


@pytest.mark.parametrize(
    ("rules", "rule"),
    [
        (Rules(deny=("a/*",)), "deny-list"),
        (Rules(allow=("b/*",)), "allow-list"),
        (Rules(pin="only", pinned="b/y"), "pinned"),
        (Rules(pin="ceiling", pinned="b/y"), "pinned"),
        (Rules(outside=lambda c: Denial(model=c.name, rule="own", reason="")), "own"),
    ],
)
def test_a_rule_alone_keeps_a_model_out(rules: Rules, rule: str) -> None:
    """The best score does not help, and the rule is named."""
    cards = [card("a/x", 100, tier=Tier.HEAVY), card("b/y", 1)]
    selection = select(FIX, cards, rules, Standing())
    assert "a/x" not in order(selection.chain)
    assert [d.rule for d in selection.denied if d.model == "a/x"] == [rule]


def test_what_the_unit_needs_keeps_models_out() -> None:
    """Too little context is too little, whatever else the model can do."""
    small = Card(name="a/small", provider="a", context_tokens=1000, tools=True)
    denied = select(FIX, [small], Rules(), Standing()).denied
    assert [(d.model, d.rule) for d in denied] == [("a/small", "context")]


def test_after_a_refusal_only_higher_tiers_are_left_the_next_one_first() -> None:
    """The refused model, its tier and what is below are out, whatever they score."""
    cards = [
        card("a/light", 99, tier=Tier.LIGHT),
        card("a/standard", 98),
        card("a/heavy", 90, tier=Tier.HEAVY),
        card("b/light", 97, tier=Tier.LIGHT),
    ]
    selection = select(
        FIX, cards, Rules(pinned="a/light"), Standing(refused=frozenset({"a/light"}))
    )
    assert order(selection.chain) == ["a/standard", "a/heavy"]
    rules = {d.model: d.rule for d in selection.denied}
    assert rules == {"a/light": "no-fly", "b/light": "no-fly-tier"}


def test_history_moves_a_model_only_when_there_is_enough_of_it() -> None:
    """Two turns say nothing; three failures in a row cost ten points."""
    cards = [card("a/x", 60, 1.0), card("a/y", 55, 1.0)]
    few = {("a/x", UnitType.FIX): (False, False)}
    assert order(select(FIX, cards, Rules(), Standing(history=few)).chain)[0] == "a/x"
    enough = {("a/x", UnitType.FIX): (False, False, False)}
    assert order(select(FIX, cards, Rules(), Standing(history=enough)).chain)[0] == "a/y"


def test_only_the_last_fifty_turns_count() -> None:
    """A model that was bad long ago and is good now is not held back."""
    seen = (False,) * 100 + (True,) * 50
    history = {("a/x", UnitType.FIX): seen}
    chain = select(FIX, [card("a/x")], Rules(), Standing(history=history)).chain
    assert chain[0].history == 10.0


def test_pressure_prefers_the_cheaper_and_burn_max_does_not_care() -> None:
    """The more of a ceiling is used, the more a price costs; burn-max asks the most capable all the same."""
    cards = [card("a/dear", 80, 10.0), card("a/cheap", 60, 1.0)]
    for pressure, first in ((0.0, "a/dear"), (0.6, "a/dear"), (0.95, "a/cheap")):
        chain = select(FIX, cards, Rules(), Standing(pressure=pressure)).chain
        assert order(chain)[0] == first
    burn = Standing(pressure=0.95, profile=Profile.BURN_MAX)
    assert order(select(FIX, cards, Rules(), burn).chain)[0] == "a/dear"
    near = [card("a/dear", 80, 10.0), card("a/cheap", 79, 1.0)]
    assert order(select(FIX, near, Rules(), burn).chain)[0] == "a/dear"
    economy = Standing(profile=Profile.ECONOMY)
    assert order(select(FIX, cards, Rules(), economy).chain)[0] == "a/cheap"


def test_the_pinned_model_is_asked_first() -> None:
    """It need not be the best; what follows it is ordered by score."""
    cards = [card("a/x", 90), card("b/y", 10), card("a/z", 95)]
    chain = select(FIX, cards, Rules(pinned="b/y"), Standing()).chain
    assert order(chain) == ["b/y", "a/z", "a/x"]


def test_a_hard_unit_asks_for_reasoning() -> None:
    """Requirements come from the unit."""
    assert "reasoning" not in needs_of(UnitType.FEATURE, Complexity.LOW).weights
    hard = needs_of(UnitType.FEATURE, Complexity.VERY_HIGH)
    assert hard.weights["reasoning"] == 0.8


CARDS = st.lists(
    st.builds(
        card,
        st.sampled_from([f"{p}/{n}" for p in "abc" for n in range(5)]),
        st.floats(0, 100),
        st.floats(0, 50),
        st.sampled_from(Tier),
    ),
    max_size=12,
)
NAMES = st.frozensets(st.sampled_from([f"{p}/{n}" for p in "abc" for n in range(5)]), max_size=4)


@given(
    cards=CARDS,
    refused=NAMES,
    grounded=NAMES,
    pressure=st.floats(0, 2),
    profile=st.sampled_from(Profile),
)
def test_every_model_is_either_in_the_chain_or_denied(
    cards: list[Card],
    refused: frozenset[str],
    grounded: frozenset[str],
    pressure: float,
    profile: Profile,
) -> None:
    """Nobody is lost and nobody is in twice; the order of the cards makes no difference; no grounded one is asked."""
    standing = Standing(refused=refused, grounded=grounded, pressure=pressure, profile=profile)
    unique = list({c.name: c for c in cards}.values())
    selection = select(FIX, unique, Rules(), standing)
    names = [*order(selection.chain), *(d.model for d in selection.denied)]
    assert sorted(names) == sorted(c.name for c in unique)
    assert not {*order(selection.chain)} & (refused | grounded)
    again = select(FIX, unique[::-1], Rules(), standing)
    assert order(again.chain) == order(selection.chain)


def test_the_shipped_catalogue_orders_as_one_would_expect() -> None:
    """A strong model before the embedded one, and each card within its ranges."""
    catalogue = load_catalogue()
    chain = select(FIX, tuple(catalogue.cards.values()), Rules(), Standing()).chain
    assert order(chain)[-1] == "embedded"
    assert "LiteLLM" in catalogue.source
