"""The reference is what the code is."""

import importlib.util
import re
from pathlib import Path

import pytest

from surefoot.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"


def pages() -> dict[str, str]:
    """Each generated page as the code would write it now."""
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: make() for name, make in module.PAGES.items()}


@pytest.mark.parametrize("name", ["cli.md", "events.md"])
def test_a_generated_page_is_fresh(name: str) -> None:
    """`python docs/generate.py` would change nothing."""
    assert (DOCS / "reference" / name).read_text() == pages()[name]


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
