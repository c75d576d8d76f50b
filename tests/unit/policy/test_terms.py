"""Provider terms: every route is allowed or denied by a rule, before a prompt leaves (SPEC C8)."""

import tomllib
from collections import Counter
from dataclasses import FrozenInstanceError, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import SettingsError
from surefoot.policy.terms import (
    Route,
    TermsRegistry,
    TermsVerdict,
    load_terms,
    parse_terms,
)
from surefoot.policy.terms_file import AuthMode, Protocol

FIXTURES = Path(__file__).parents[2] / "data" / "terms" / "fixtures.toml"
TEXT = files("surefoot.policy").joinpath("terms.toml").read_text(encoding="utf-8")
PLAIN: dict[str, Any] = tomllib.loads(TEXT)
PROVIDERS: dict[str, Any] = PLAIN["providers"]
AUTH: tuple[AuthMode, ...] = get_args(AuthMode)
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
NAMED = (
    "anthropic openai google moonshot kimi-coding mistral deepseek openrouter bedrock ollama local"
)

# In pieces, so that no search for secrets stops here.
ANTHROPIC_KEY = "sk-ant-" + "api03-" + "x" * 24
CLAUDE_TOKEN = "sk-ant-" + "oat01-" + "x" * 24
CLAUDE_REFRESH = "sk-ant-" + "ort01-" + "x" * 24
CODEX_TOKEN = "eyJ" + "x" * 12 + ".eyJ" + "y" * 12 + "." + "z" * 12
OPENAI_KEY = "sk-" + "proj-" + "x" * 24
GOOGLE_KEY = "AI" + "za" + "x" * 35
GEMINI_TOKEN = "ya" + "29." + "x" * 24
GOOGLE_REFRESH = "1/" + "/0" + "x" * 24
KIMI_PLAN_KEY = "sk-" + "kimi-" + "x" * 24
OPENROUTER_KEY = "sk-" + "or-v1-" + "x" * 24
PLAIN_KEY = "sk-" + "x" * 32


def routes() -> list[tuple[Route, bool, str]]:
    rows = tomllib.loads(FIXTURES.read_text(encoding="utf-8"))["route"]
    return [
        (
            Route(
                provider=row["provider"],
                model=row["model"],
                auth=row["auth"],
                protocol=row["protocol"],
                host=row.get("host"),
                tools=row.get("tools", False),
            ),
            row["allowed"],
            row["rule"],
        )
        for row in rows
    ]


ROUTES = routes()


def one(provider: str, host: str | None, **other: Any) -> Route:
    given_by_default = {"model": "m", "auth": "api-key", "protocol": "litellm"}
    return Route(provider=provider, host=host, **{**given_by_default, **other})


@pytest.fixture
def registry() -> TermsRegistry:
    return load_terms()


# --- the table ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "allowed", "rule"),
    ROUTES,
    ids=[f"{n}-{rule}" for n, (_, _, rule) in enumerate(ROUTES)],
)
def test_a_route_gets_the_verdict_of_its_fixture(
    registry: TermsRegistry, route: Route, *, allowed: bool, rule: str
) -> None:
    """Allowed or denied, by the rule that the table names, under the registry's version."""
    verdict = registry.check(route)
    assert (verdict.allowed, verdict.rule) == (allowed, rule), verdict.text
    assert verdict.registry == registry.version == "2026-11-22"


def test_every_provider_has_an_allowed_and_a_denied_route() -> None:
    """The table is of some size and leaves no provider out, the unknown ones included."""
    seen = Counter((rule.partition("/")[0], allowed) for _, allowed, rule in ROUTES)
    assert len(ROUTES) >= 40
    assert sorted(PROVIDERS) == sorted(NAMED.split())
    for provider in (*PROVIDERS, "unknown"):
        assert seen[provider, True] >= 1, provider
        assert seen[provider, False] >= 1, provider


def test_every_rule_that_can_deny_a_route_has_a_fixture(registry: TermsRegistry) -> None:
    """Of the rules on models and on bound credentials, which differ from provider to provider."""
    seen = {rule for _, _, rule in ROUTES}
    facets = ("auth", "protocols", "hosts", "tools")
    special = {rule for rule in registry.rules() if not rule.endswith(facets)}
    # These two speak of a credential's form, which a route alone does not show.
    assert special - seen == {"google/refresh-token-bound", "kimi-coding/coding-plan-bound"}


@pytest.mark.parametrize("route", [route for route, allowed, _ in ROUTES if not allowed])
def test_a_denial_is_one_sentence_with_a_mend(registry: TermsRegistry, route: Route) -> None:
    """What was refused, then what to do, with no full stop in between."""
    text = registry.check(route).text
    assert "; " in text
    assert not text.endswith((".", ";", " "))
    assert "\n" not in text
    assert ". " not in text


def test_an_unknown_provider_is_told_so(registry: TermsRegistry) -> None:
    """It is admitted, and the record says that nobody has read its terms."""
    verdict = registry.check(one("together", "api.together.xyz"))
    assert verdict.allowed
    assert "'together' is not in the registry 2026-11-22" in verdict.text


# --- properties -----------------------------------------------------------------------------------

MODELS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["claude-x", "gpt-5", "gemini-2.5-pro", "kimi-k2.6", "deepseek-v4-pro", "a/b", "*"]
    ),
)
HOSTS = st.one_of(
    st.none(),
    st.text(max_size=30),
    st.from_regex(r"[a-z]{1,5}(\.[a-z]{1,5}){1,3}", fullmatch=True),
    st.sampled_from(
        ["127.0.0.1", "::1", "localhost", "10.0.0.1", "evil.example", "x-aiplatform.googleapis.com"]
        + [host for terms in PROVIDERS.values() for host in terms["hosts"]["accepts"]]
    ),
    st.sampled_from(["api.anthropic.com", "api.openai.com", "ollama.com"]).flatmap(
        lambda host: st.sampled_from(
            [
                f"{host}.evil.example",
                f"evil-{host}",
                f"evil.{host}",
                f"{host}@evil.example",
                f"{host}\n",
            ]
        )
    ),
)
NAMES = st.one_of(
    st.sampled_from([*PROVIDERS, "gemini", "vertex_ai", "together"]), st.text(max_size=12)
)
ANY_ROUTE = st.builds(
    Route,
    provider=NAMES,
    model=MODELS,
    auth=st.sampled_from(AUTH),
    protocol=st.sampled_from(PROTOCOLS),
    host=HOSTS,
    tools=st.booleans(),
)
TOKENS = [CLAUDE_TOKEN, CLAUDE_REFRESH, GEMINI_TOKEN, GOOGLE_REFRESH, KIMI_PLAN_KEY]


@given(route=ANY_ROUTE)
def test_every_route_gets_a_verdict_and_always_the_same(route: Route) -> None:
    """Nothing that can be written down as a route raises, and asking twice changes nothing."""
    verdict = load_terms().check(route)
    assert isinstance(verdict, TermsVerdict)
    assert verdict.text
    assert verdict == load_terms().check(route)


@given(route=ANY_ROUTE, model=MODELS)
def test_a_subscription_stays_denied_whatever_the_model(route: Route, model: str) -> None:
    """A subscription token goes to the Kimi coding plan's own host or nowhere."""
    verdict = load_terms().check(replace(route, auth="subscription-token", model=model))
    if verdict.allowed:
        assert verdict.rule == "kimi-coding/admitted"
        assert route.host is not None
        assert route.host.lower().rstrip(".") == "api.kimi.com"


@given(route=ANY_ROUTE, model=MODELS, token=st.sampled_from(TOKENS))
def test_a_bound_token_stays_denied_whatever_the_route_says(
    route: Route, model: str, token: str
) -> None:
    """What the route claims of its credential does not matter; the credential's form does."""
    verdict = load_terms().check_credential(replace(route, model=model), token)
    if verdict.allowed:
        assert token == KIMI_PLAN_KEY
        assert verdict.rule == "kimi-coding/admitted"


@given(route=ANY_ROUTE)
def test_no_credential_goes_to_a_host_outside_the_list(route: Route) -> None:
    """With a credential a known provider is reached at its own hosts only, and an unknown one at none of theirs."""
    verdict = load_terms().check(route)
    owner = verdict.rule.partition("/")[0]
    if not verdict.allowed or route.auth == "none" or owner == "local":
        return
    assert route.host is not None
    host = route.host.lower().rstrip(".")
    owned = {key: fits(host, terms["hosts"]["accepts"]) for key, terms in PROVIDERS.items()}
    if owner == "unknown":
        assert not any(owned.values())
    else:
        assert owned[owner]


def fits(host: str, accepted: list[str]) -> bool:
    """The globs read in another way than the registry does: label by label."""
    return any(
        len(host.split(".")) == len(glob.split("."))
        and all(
            mine == theirs
            or (theirs.startswith("*") and mine.endswith(theirs[1:]) and mine != theirs[1:])
            for mine, theirs in zip(host.split("."), glob.split("."), strict=True)
        )
        for glob in accepted
    )


@pytest.mark.parametrize(
    ("auth", "protocol", "tools"), list(product(AUTH, PROTOCOLS, (False, True)))
)
def test_loopback_is_local_whatever_the_provider(
    registry: TermsRegistry, auth: AuthMode, protocol: Protocol, *, tools: bool
) -> None:
    """The same words for the same server, known provider or not."""
    verdicts = {
        registry.check(one(provider, host, auth=auth, protocol=protocol, tools=tools)).allowed
        for provider in (*PROVIDERS, "together")
        for host in ("127.0.0.1", "::1", "[::1]", "localhost", "LocalHost.")
    }
    assert verdicts == {auth in {"none", "api-key"} and protocol != "in-process"}


# --- the credential's own form --------------------------------------------------------------------

FORMS: list[tuple[str, str | None, AuthMode]] = [
    ("anthropic", None, "none"),
    ("anthropic", "", "none"),
    ("anthropic", "  ", "none"),
    ("anthropic", ANTHROPIC_KEY, "api-key"),
    ("anthropic", CLAUDE_TOKEN, "subscription-token"),
    ("anthropic", CLAUDE_REFRESH, "subscription-token"),
    ("anthropic", f"Bearer {CLAUDE_TOKEN}", "subscription-token"),
    ("openai", CLAUDE_TOKEN, "subscription-token"),
    ("together", CLAUDE_TOKEN, "subscription-token"),
    ("openai", OPENAI_KEY, "api-key"),
    ("openai", CODEX_TOKEN, "subscription-token"),
    ("together", CODEX_TOKEN, "api-key"),
    ("google", GOOGLE_KEY, "api-key"),
    ("gemini", GEMINI_TOKEN, "subscription-token"),
    ("vertex_ai", GOOGLE_REFRESH, "subscription-token"),
    ("moonshot", PLAIN_KEY, "api-key"),
    ("moonshot", KIMI_PLAN_KEY, "subscription-token"),
    ("kimi-coding", KIMI_PLAN_KEY, "subscription-token"),
    ("kimi-coding", PLAIN_KEY, "api-key"),
    ("mistral", "x" * 32, "api-key"),
    ("deepseek", PLAIN_KEY, "api-key"),
    ("openrouter", OPENROUTER_KEY, "api-key"),
    ("ollama", "x" * 40, "api-key"),
    ("local", "anything", "api-key"),
]


@pytest.mark.parametrize(("provider", "secret", "auth"), FORMS, ids=range(len(FORMS)))
def test_the_form_of_a_credential_tells_its_kind(
    registry: TermsRegistry, provider: str, secret: str | None, auth: AuthMode
) -> None:
    """Bound tokens are known by their beginnings; all else is an API key."""
    assert registry.auth_of(provider, secret) == auth


EXCHANGES = [
    ("anthropic", "claude-x", "api.anthropic.com", ANTHROPIC_KEY, "anthropic/admitted"),
    ("anthropic", "claude-x", "api.anthropic.com", CLAUDE_TOKEN, "anthropic/subscription-bound"),
    ("anthropic", "claude-x", "api.anthropic.com", OPENAI_KEY, "registry/foreign-key"),
    ("anthropic", "claude-x", "api.anthropic.com", None, "anthropic/auth"),
    ("openai", "gpt-5", "api.openai.com", OPENAI_KEY, "openai/admitted"),
    ("openai", "gpt-5", "api.openai.com", PLAIN_KEY, "openai/admitted"),
    ("openai", "gpt-5", "api.openai.com", CODEX_TOKEN, "openai/subscription-bound"),
    ("openai", "gpt-5", "api.openai.com", OPENROUTER_KEY, "registry/foreign-key"),
    ("openai", "gpt-5", "api.openai.com", CLAUDE_TOKEN, "anthropic/subscription-bound"),
    ("google", "gemini-x", "generativelanguage.googleapis.com", GOOGLE_KEY, "google/admitted"),
    (
        "google",
        "gemini-x",
        "generativelanguage.googleapis.com",
        GEMINI_TOKEN,
        "google/subscription-bound",
    ),
    (
        "google",
        "gemini-x",
        "aiplatform.googleapis.com",
        GOOGLE_REFRESH,
        "google/refresh-token-bound",
    ),
    ("moonshot", "kimi-x", "api.moonshot.ai", PLAIN_KEY, "moonshot/admitted"),
    ("moonshot", "kimi-x", "api.moonshot.ai", KIMI_PLAN_KEY, "moonshot/coding-plan-bound"),
    ("kimi-coding", "kimi-x", "api.kimi.com", KIMI_PLAN_KEY, "kimi-coding/admitted"),
    ("kimi-coding", "kimi-x", "api.kimi.com", PLAIN_KEY, "kimi-coding/auth"),
    ("kimi-coding", "kimi-x", "api.moonshot.ai", KIMI_PLAN_KEY, "kimi-coding/hosts"),
    ("kimi-coding", "kimi-x", "api.kimi.com", CLAUDE_TOKEN, "anthropic/subscription-bound"),
    ("kimi-coding", "kimi-x", "api.kimi.com", GEMINI_TOKEN, "google/subscription-bound"),
    ("together", "m", "api.together.xyz", KIMI_PLAN_KEY, "kimi-coding/coding-plan-bound"),
    ("together", "m", "api.together.xyz", GOOGLE_KEY, "registry/foreign-key"),
    ("together", "m", "api.together.xyz", PLAIN_KEY, "unknown/admitted"),
    ("openrouter", "a/b", "openrouter.ai", OPENROUTER_KEY, "openrouter/admitted"),
    ("openrouter", "a/b", "openrouter.ai", ANTHROPIC_KEY, "registry/foreign-key"),
    ("ollama", "m", "gpu.lan", None, "ollama/admitted"),
    ("ollama", "m", "gpu.lan", "x" * 40, "ollama/hosts"),
    ("anthropic", "m", "127.0.0.1", ANTHROPIC_KEY, "local/admitted"),
    ("anthropic", "m", "127.0.0.1", CLAUDE_TOKEN, "anthropic/subscription-bound"),
    ("openai", "m", "localhost", CODEX_TOKEN, "openai/subscription-bound"),
    ("kimi-coding", "m", "localhost", KIMI_PLAN_KEY, "local/subscription-bound"),
    ("local", "m", "127.0.0.1", None, "local/admitted"),
]


@pytest.mark.parametrize(
    ("provider", "model", "host", "secret", "rule"), EXCHANGES, ids=range(len(EXCHANGES))
)
@pytest.mark.parametrize("claimed", ["api-key", "subscription-token", "none"])
def test_a_secret_is_judged_by_its_form_and_never_shown(
    registry: TermsRegistry,
    *,
    provider: str,
    model: str,
    host: str,
    secret: str | None,
    rule: str,
    claimed: AuthMode,
) -> None:
    """Whatever the route claims, and the sentence names the rule and not the secret."""
    verdict = registry.check_credential(one(provider, host, model=model, auth=claimed), secret)
    assert verdict.rule == rule, verdict.text
    assert verdict.allowed == rule.endswith("/admitted")
    assert secret is None or secret not in repr(verdict)


def test_a_cloud_identity_has_no_secret(registry: TermsRegistry) -> None:
    """It stands where there is none, and does not turn a token into something else."""
    cloud = one("google", "aiplatform.googleapis.com", model="gemini-x", auth="cloud-identity")
    assert registry.check_credential(cloud, None).rule == "google/admitted"
    assert registry.check_credential(cloud, GEMINI_TOKEN).rule == "google/subscription-bound"


def test_a_password_in_the_host_is_not_repeated(registry: TermsRegistry) -> None:
    """A host that is none may hold anything."""
    verdict = registry.check(one("together", "user:hunter22@api.together.xyz"))
    assert verdict.rule == "registry/host"
    assert "hunter22" not in repr(verdict)


def test_a_mapped_or_short_loopback_address_is_not_taken_for_loopback(
    registry: TermsRegistry,
) -> None:
    """What a resolver might read as this machine is a foreign host to a key."""
    for host in ("127.1", "2130706433", "0.0.0.0", "localhost.evil.example", "127.0.0.1.nip.io"):
        assert registry.check(one("anthropic", host, model="claude-x")).rule == "anthropic/hosts"


@pytest.mark.parametrize(
    ("host", "provider"),
    [
        ("api.openai.com", "openai"),
        ("EU.api.openai.com.", "openai"),
        ("us-east1-aiplatform.googleapis.com", "google"),
        ("api.kimi.com", "kimi-coding"),
        ("[::1]", "local"),
        ("localhost", "local"),
        ("api.openai.com.evil.example", None),
        ("gpu.lan", None),
        ("", None),
    ],
)
def test_a_host_tells_its_provider(
    registry: TermsRegistry, host: str, provider: str | None
) -> None:
    """So that a base URL is judged by the terms of whoever answers there."""
    assert registry.provider_at(host) == provider


# --- the file -------------------------------------------------------------------------------------


def test_every_rule_has_a_source_and_a_date(registry: TermsRegistry) -> None:
    """A page and a day; a rule of our own, or stricter than its page, says so in its note."""
    rules = registry.rules()
    assert len(rules) > 50
    for rule in rules.values():
        assert rule.source.startswith("https://") or (rule.source == "surefoot" and rule.note)
        assert rule.date.isoformat().startswith("2026-")
        assert rule.source != "surefoot" or rule.note.startswith("Own ")


def test_every_denial_by_a_provider_is_a_rule_of_the_file(registry: TermsRegistry) -> None:
    """So that whoever reads the verdict can look up where it comes from."""
    denied = {
        rule for _, allowed, rule in ROUTES if not allowed and not rule.startswith("registry/")
    }
    assert denied <= set(registry.rules())


def test_the_registry_is_read_once() -> None:
    """The same object, not an equal one."""
    assert load_terms() is load_terms()


def test_verdicts_and_routes_do_not_change(registry: TermsRegistry) -> None:
    """They go into events."""
    route = one("openai", "api.openai.com")
    with pytest.raises(FrozenInstanceError):
        route.auth = "none"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        registry.check(route).allowed = True  # type: ignore[misc]


BROKEN = [
    ("[[[", "line 1"),
    ("", "version"),
    (TEXT.replace('version = "2026-11-22"', ""), "version"),
    (TEXT.replace('accepts = ["api-key"]', 'accepts = ["apikey"]', 1), r"anthropic\.auth\.accepts"),
    (TEXT.replace('accepts = ["api-key"]', 'takes = ["api-key"]', 1), r"anthropic\.auth\.accepts"),
    (TEXT.replace("date = 2026-11-22", 'date = "soon"', 1), r"anthropic\.auth\.date"),
    (TEXT.replace("everywhere = true", "everwhere = true", 1), "everwhere"),
    (TEXT.replace("pattern = 'sk-ant-", "pattern = '(sk-ant-", 1), r"anthropic\.bound"),
    (TEXT.replace('others = "never"', 'others = "sometimes"', 1), r"anthropic\.hosts\.others"),
    (TEXT.replace('"https://code.claude.com', '"http://code.claude.com', 1), "https"),
    (TEXT.replace('note = "Own rule: whatever the local server speaks."', 'note = ""'), "note"),
    (TEXT.replace('aliases = ["claude"]', 'aliases = ["openai"]'), "taken twice"),
    (TEXT.replace('aliases = ["claude"]', 'aliases = ["unknown"]'), "reserved"),
    (TEXT.replace('aliases = ["claude"]', 'aliases = ["Claude"]'), "not one"),
    (TEXT.replace('id = "responses-only"', 'id = "models"'), "same id"),
    (TEXT.replace("[providers.local", "[providers.here"), "'local'"),
]


@pytest.mark.parametrize(("text", "place"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_registry_is_refused_and_the_place_is_named(text: str, place: str) -> None:
    """Nothing is half read: a rule that is not understood might be the one that denies."""
    assert text != TEXT
    with pytest.raises(SettingsError, match=rf"terms\.toml.*{place}"):
        parse_terms(text)


def test_the_whole_registry_is_read_as_it_stands() -> None:
    """The text that the broken ones are made of is not broken itself."""
    assert parse_terms(TEXT).version == load_terms().version


def test_a_denial_by_a_rule_that_is_not_confirmed_says_so() -> None:
    """Whoever is refused learns how sure the registry is; what was found again has nothing to add."""
    registry = load_terms()
    doubtful = {id_: rule for id_, rule in registry.rules().items() if rule.unconfirmed}
    assert doubtful
    assert all(rule.source.startswith("https://") for rule in doubtful.values())
    refused = registry.check(one("moonshot", "api.moonshot.ai", model="gpt-5"))
    assert (refused.rule, refused.rule in doubtful) == ("moonshot/models", True)
    assert doubtful[refused.rule].unconfirmed in refused.text
    sure = registry.check(one("anthropic", "api.anthropic.com", model="gpt-5"))
    assert sure.rule not in doubtful
    assert "(of this rule" not in sure.text


def test_a_rule_of_our_own_cannot_be_unconfirmed() -> None:
    """It has no page."""
    own = 'note = "Own rule: whatever the local server speaks."'
    with pytest.raises(SettingsError, match="no page that it could be confirmed by"):
        parse_terms(TEXT.replace(own, f'{own}\nunconfirmed = "x"'))
