"""The reference is what the code is."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from surefoot.codec import decode
from surefoot.plan import CODES, judge
from surefoot.plans import Plan
from surefoot.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> ModuleType:
    """What writes the pages."""
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["cli.md", "events.md"])
def test_a_generated_page_is_fresh(name: str) -> None:
    """`python docs/generate.py` would change nothing."""
    assert (DOCS / "reference" / name).read_text() == generator().PAGES[name]()


def test_the_picture_of_the_life_cycle_is_its_table() -> None:
    """Each step of the engine is drawn, and nothing else."""
    generate = generator()
    for name, draw in generate.PICTURES.items():
        page = (DOCS / name).read_text()
        assert page == generate.with_picture(page, draw())


def test_every_setting_is_documented() -> None:
    """Each key of surefoot.toml stands on the settings page."""
    page = (DOCS / "reference" / "settings.md").read_text()
    for section, info in Settings.model_fields.items():
        for key in info.annotation.model_fields:  # type: ignore[union-attr]
            assert f"`{section}.{key}`" in page, f"{section}.{key}"


def test_every_link_leads_somewhere() -> None:
    """A relative link of a page names a file that exists."""
    root = DOCS.parent
    for page in [*root.glob("*.md"), *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_refusal_of_the_plan_gate_is_documented() -> None:
    """Each code stands on the page of plan.json with what it is about."""
    page = (DOCS / "reference" / "plan.md").read_text()
    for code, why in CODES.items():
        assert f"| `{code}` | {why} |" in page, code


def test_the_plan_on_the_page_is_one() -> None:
    """The example decodes, and the gate holds nothing against it."""
    page = (DOCS / "reference" / "plan.md").read_text()
    example = page.partition("```json\n")[2].partition("```")[0]
    plan = decode(Plan, example.encode())
    assert judge(plan, ["almanac/text.py", "tests/test_text.py"]) == ()
