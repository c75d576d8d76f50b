"""Definitions and references are read in each language; what is no source text is not parsed."""

import pytest

from surefoot.context.grammars import GRAMMARS, language_of
from surefoot.context.symbols import MOST_BYTES, Symbols, symbols_of, unreadable

SOURCES = {
    "c": (
        (
            "struct point { int x; };\n#define MAX(a) a\nint *grow(struct point *p) { return shrink(p->f(1)); }\n"
            "typedef int number;\nnumber f(number n) { return n; }\n"
        ),
        "point MAX grow number f",
        "shrink f number",
    ),
    "cpp": (
        "class Cart : public Base { int total() { return sum(1); } };\nint Cart::count() { return std::max(1, 2); }\n",
        "Cart total count",
        "Base sum max",
    ),
    "go": (
        (
            "package a\nconst Limit = 1\ntype Cart struct { p *Price }\nfunc (c *Cart) Total(x Money) int { return sum(c.Len()) }\n"
            "func New() Cart { return Cart{} }\n"
        ),
        "Limit Cart Total New",
        "Price Cart Money sum Len",
    ),
    "java": (
        (
            "class Cart extends Base implements Sized { Money m; Cart() {} int total(Price p) { return sum(new Order()); } }\n"
            "interface Sized {}\nenum Kind { A }\nrecord Pair(int a) {}\n"
        ),
        "Cart Sized Kind Pair total",
        "Base Sized Money Price Order sum",
    ),
    "javascript": (
        (
            "import fs, { sum } from './sum.js';\nexport const add = (a) => sum(a);\nclass Cart extends Base { total() { this.of(1); } }\n"
            "function f() { const inner = 1; return new Order(); }\nlet x = 1;\n"
        ),
        "add Cart total f x",
        "fs sum Base of Order",
    ),
    "python": (
        (
            "from m import names\nLIMIT = 1\nclass Cart(Base):\n    async def total(self, p: Price):\n        x = 1\n"
            "        return sum(self.each())\n@cached\ndef f(): pass\n"
        ),
        "LIMIT Cart total f",
        "names Base Price sum each cached",
    ),
    "ruby": (
        "module Shop\n  class Cart < Base\n    def total(x) = sum(x)\n    def self.make; Order.new(1); end\n  end\nend\nLIMIT = 1\n",
        "Shop Cart total make LIMIT",
        "Base sum Order new",
    ),
    "rust": (
        (
            "use crate::m::names;\nstruct Cart { p: u8 }\ntrait Sized2 { fn len(&self); }\nimpl Sized2 for Cart { fn len(&self) { sum!(); } }\n"
            "const LIMIT: u8 = 1;\nfn f(p: Price) { p.each(a::b()); g(); }\n"
        ),
        "Cart Sized2 len LIMIT f",
        "names Sized2 Cart sum Price each b g",
    ),
    "tsx": (
        "export const View = (p: Props) => <div>{sum(p)}</div>;\ninterface Props { total(): void }\n",
        "View Props total",
        "Props sum",
    ),
    "typescript": (
        (
            "abstract class Cart extends Base implements Sized { abstract size(): number; total(p: Price): List<Item> { return of(p); } }\n"
            "type Id = string;\nenum Kind { A }\nexport interface Sized {}\n"
        ),
        "Cart size total Id Kind Sized",
        "Base Sized Price List of",
    ),
}


def read(language: str, data: bytes) -> Symbols:
    symbols = symbols_of(language, data)
    assert symbols is not None
    return symbols


def test_every_grammar_has_an_example() -> None:
    """A new language comes with one."""
    assert SOURCES.keys() == GRAMMARS.keys()


@pytest.mark.parametrize("language", SOURCES)
def test_definitions_and_references_are_found(language: str) -> None:
    """Definitions in the order of their lines, what is local to a function left out."""
    text, definitions, references = SOURCES[language]
    symbols = read(language, text.encode())
    assert set(symbols.names) == set(definitions.split())
    assert set(references.split()) <= symbols.references.keys()
    assert list(symbols.lines) == sorted(symbols.lines)
    rows = text.splitlines()
    for name, line, shown in zip(symbols.names, symbols.lines, symbols.texts, strict=True):
        assert name in shown
        assert rows[line - 1].startswith(shown)


def test_broken_source_still_gives_what_can_be_read() -> None:
    """A parser that recovers never invents names that are none."""
    symbols = read("python", b"def good(): pass\n\ndef bad(:\n  x ==\n\nclass Fine: pass\n")
    assert {"good", "Fine"} <= set(symbols.names)
    assert all(name.isidentifier() for name in symbols.names)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"x" * (MOST_BYTES + 1), "too large"),
        (b"a\0b", "binary"),
        (b"\xff\xfe", "not UTF-8"),
        ("x = 'ä'".encode(), None),
    ],
)
def test_what_is_no_source_text_is_told(data: bytes, why: str | None) -> None:
    """In a word or two."""
    assert unreadable(data) == why


def test_deep_nesting_is_too_tangled() -> None:
    """Many brackets side by side are not deep."""
    assert symbols_of("python", b"(" * 5_000) is None
    assert symbols_of("python", b"[{" * 101 + b"}]" * 101) is None
    assert read("python", b"()" * 5_000).names == []


def test_what_a_parser_does_not_get_on_with_is_too_tangled() -> None:
    """Recovery from errors takes the square of their number; a few errors are recovered from."""
    assert symbols_of("c", b"+-*/%" * 2_000) is None
    assert symbols_of("c", b"+-*/%" * 10) is not None


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_hostile_text_neither_hangs_nor_breaks_a_parser(language: str) -> None:
    """Closing brackets, operators, quotes and indentation without end; a real file of that length is read."""
    texts = (
        b"}" * 5_000,
        b"+-*/%" * 2_000,
        b"'\"`" * 2_000,
        b"\n".join(b" " * n + b"if x:" for n in range(250)),
        b"a." * 4_000,
        b"class " * 2_000,
    )
    for text in texts:
        symbols_of(language, text)
    assert symbols_of(language, SOURCES[language][0].encode() * 100) is not None


def test_files_are_told_by_their_suffix() -> None:
    """In any case of letters; others are in no language."""
    paths = ("a/B.PY", "x.tsx", "x.d.ts", "h.hpp", "README.md", "Makefile", ".py")
    assert [language_of(p) for p in paths] == [
        "python",
        "tsx",
        "typescript",
        "cpp",
        None,
        None,
        None,
    ]
