"""Writes `src/surefoot/models/catalogue.toml`: prices and sizes from LiteLLM's map, tiers and scores from the table below.

    python -m tools.catalogue            # needs the extra `hosted`

The scores are this project's own estimates of how well a model does in each dimension, 0..100, made from what its
publisher and public comparisons say; they only order models, and what really became of turns corrects them.
"""

import json
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any, Final

TARGET: Final = Path(__file__).parents[1] / "src/surefoot/models/catalogue.toml"
READ: Final = "2026-11-22"
DIMENSIONS: Final = (
    "coding",
    "debugging",
    "research",
    "reasoning",
    "speed",
    "long_context",
    "instruction",
)
# Our name, LiteLLM's key, tier, scores in the order of DIMENSIONS.
MODELS: Final = (
    ("anthropic/claude-haiku-4-5", "claude-haiku-4-5", "light", (74, 70, 64, 66, 84, 62, 76)),
    ("anthropic/claude-sonnet-4-6", "claude-sonnet-4-6", "standard", (86, 84, 78, 82, 68, 80, 86)),
    ("anthropic/claude-opus-4-7", "claude-opus-4-7", "heavy", (92, 91, 86, 90, 50, 86, 90)),
    ("anthropic/claude-opus-4-8", "claude-opus-4-8", "heavy", (93, 92, 87, 91, 50, 87, 91)),
    ("openai/gpt-5.4-nano", "gpt-5.4-nano", "light", (60, 54, 52, 56, 92, 58, 66)),
    ("openai/gpt-5.4-mini", "gpt-5.4-mini", "light", (72, 68, 66, 70, 84, 66, 76)),
    ("openai/gpt-5.4", "gpt-5.4", "standard", (86, 85, 82, 86, 60, 80, 86)),
    ("openai/gpt-5.6-luna", "gpt-5.6-luna", "light", (70, 66, 66, 70, 88, 70, 76)),
    ("openai/gpt-5.6-terra", "gpt-5.6-terra", "standard", (85, 84, 82, 85, 66, 82, 86)),
    ("openai/gpt-5.6", "gpt-5.6", "heavy", (92, 91, 88, 92, 50, 86, 90)),
    (
        "gemini/gemini-3.5-flash-lite",
        "gemini/gemini-3.5-flash-lite",
        "light",
        (62, 56, 62, 60, 92, 76, 68),
    ),
    (
        "gemini/gemini-3.7-flash",
        "gemini/gemini-3.7-flash",
        "standard",
        (78, 74, 76, 76, 84, 84, 78),
    ),
    (
        "gemini/gemini-3.1-pro-preview",
        "gemini/gemini-3.1-pro-preview",
        "heavy",
        (87, 85, 87, 89, 56, 90, 84),
    ),
    ("deepseek/deepseek-chat", "deepseek/deepseek-chat", "standard", (80, 76, 72, 74, 64, 62, 76)),
    (
        "deepseek/deepseek-reasoner",
        "deepseek/deepseek-reasoner",
        "standard",
        (82, 80, 76, 84, 40, 62, 76),
    ),
    ("mistral/codestral-2508", "mistral/codestral-2508", "light", (70, 62, 50, 56, 86, 64, 66)),
    ("mistral/devstral-2512", "mistral/devstral-2512", "standard", (78, 74, 62, 68, 74, 68, 74)),
    (
        "mistral/mistral-medium-3-5",
        "mistral/mistral-medium-3-5",
        "standard",
        (80, 76, 74, 76, 70, 72, 80),
    ),
    ("moonshot/kimi-k2.5", "moonshot/kimi-k2.5", "standard", (82, 79, 76, 80, 62, 74, 80)),
    ("moonshot/kimi-k2.6", "moonshot/kimi-k2.6", "standard", (85, 82, 78, 83, 62, 76, 83)),
    # The same model behind a subscription; the price of a token there is the general API's, as an upper bound.
    ("kimi-coding/kimi-k2.6", "moonshot/kimi-k2.6", "standard", (85, 82, 78, 83, 62, 76, 83)),
)
EMBEDDED: Final = """\
[[model]]
name = "embedded"
provider = "local"
tier = "light"
context_tokens = 8192
prompt_usd = 0.0
completion_usd = 0.0
tools = false
schema = true
scores = { coding = 34, debugging = 26, research = 12, reasoning = 20, speed = 30, long_context = 8, instruction = 36 }
"""


def entry(name: str, known: dict[str, Any], tier: str, scores: tuple[int, ...]) -> str:
    """One card as TOML."""
    rated = ", ".join(f"{d} = {s}" for d, s in zip(DIMENSIONS, scores, strict=True))
    return (
        "[[model]]\n"
        f'name = "{name}"\n'
        f'provider = "{name.partition("/")[0]}"\n'
        f'tier = "{tier}"\n'
        f"context_tokens = {known['max_input_tokens']}\n"
        f"prompt_usd = {round(known['input_cost_per_token'] * 1e6, 6)}\n"
        f"completion_usd = {round(known['output_cost_per_token'] * 1e6, 6)}\n"
        f"tools = {str(bool(known.get('supports_function_calling'))).lower()}\n"
        f"schema = {str(bool(known.get('supports_response_schema'))).lower()}\n"
        f"scores = {{ {rated} }}\n"
    )


def render() -> str:
    """The whole file."""
    # Found without importing the package, which would fetch the map from the network.
    kept = distribution("litellm").locate_file(
        "litellm/model_prices_and_context_window_backup.json"
    )
    prices: dict[str, Any] = json.loads(Path(str(kept)).read_text())
    source = (
        f"context, prices and abilities: LiteLLM {version('litellm')}, model_prices_and_context_window, read {READ}; "
        f"tiers and scores: estimates of this project, {READ}; unknown is 50"
    )
    head = f'# Written by `python -m tools.catalogue`.\nversion = "{READ}"\nsource = "{source}"\n\n'
    cards = [entry(name, prices[key], tier, scores) for name, key, tier, scores in MODELS]
    return head + "\n".join([EMBEDDED, *cards])


if __name__ == "__main__":
    TARGET.write_text(render())
