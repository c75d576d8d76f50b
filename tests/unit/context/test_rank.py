"""What matters to a text comes first: what it says, what that is made of, what the rest leans on."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from surefoot.context.rank import rank
from surefoot.context.symbols import Symbols, symbols_of

FILES = {
    "cart.py": "from tax import tax_of\nclass Cart:\n    def total(self): return tax_of(self)\n    def items(self): pass\n",
    "tax.py": "from money import rounded\ndef tax_of(x): return rounded(x)\ndef rates(): pass\n",
    "money.py": "def rounded(x): pass\n",
    "far.py": "def unrelated_thing(): pass\ndef cart_listing(): pass\n",
    "web.py": "from far import unrelated_thing\ndef page(): unrelated_thing()\n",
}


def symbols(files: Mapping[str, str]) -> dict[str, Symbols]:
    found = {path: symbols_of("python", text.encode()) for path, text in files.items()}
    return {path: each for path, each in found.items() if each is not None}


def order(text: str, *mentioned: str) -> list[str]:
    return [r.text.strip() for r in rank(symbols(FILES), text, mentioned)]


def test_what_the_text_says_comes_first_then_what_it_leans_on() -> None:
    """`tax_of` is what `total` calls, `rounded` what that calls."""
    found = order("`Cart.total` is wrong by a cent")
    assert set(found[:2]) == {"class Cart:", "def total(self): return tax_of(self)"}
    tax, money = (
        found.index("def tax_of(x): return rounded(x)"),
        found.index("def rounded(x): pass"),
    )
    assert tax < money < found.index("def unrelated_thing(): pass")


def test_names_made_of_words_of_the_text_come_before_others() -> None:
    """Prose finds the function that is named after it."""
    assert order("the listing of a cart is empty")[0] == "def cart_listing(): pass"


def test_a_named_file_comes_first() -> None:
    """By its path, its name, its module, or because the caller says so."""
    for found in (order("see far.py"), order("import of `far.x` fails"), order("help", "far.py")):
        assert set(found[:2]) == {"def unrelated_thing(): pass", "def cart_listing(): pass"}
    assert order("too far-fetched")[0] != "def unrelated_thing(): pass"


def test_every_definition_is_ranked_once() -> None:
    """Also without a text, and without files."""
    total = sum(len(s.names) for s in symbols(FILES).values())
    assert len(order("")) == len(set(order(""))) == total
    assert list(rank({}, "text", ())) == []


@given(
    st.dictionaries(
        st.text("abc/.", min_size=1, max_size=6),
        st.tuples(
            st.lists(st.text("ab_", min_size=1, max_size=3), max_size=4),
            st.dictionaries(st.text("ab_", min_size=1, max_size=3), st.integers(1, 9), max_size=4),
        ),
        max_size=6,
    ),
    st.text("ab_ ()`.", max_size=20),
)
def test_any_graph_is_ranked_the_same_twice(
    files: dict[str, tuple[list[str], dict[str, int]]], text: str
) -> None:
    """Whatever refers to whatever, and in whatever order the files come."""
    made = {
        path: Symbols(
            names=names, lines=list(range(len(names))), texts=names, references=references
        )
        for path, (names, references) in files.items()
    }
    first = list(rank(made, text, ()))
    assert first == list(rank(dict(reversed(made.items())), text, ()))
    assert len(first) == sum(len(s.names) for s in made.values())
