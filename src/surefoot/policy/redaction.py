"""Secrets are hidden before anything else sees the text (SPEC F6).

A pattern is tried only where one of its anchors stands, which is a plain search for a string. Time is linear: what a
pattern has matched is never looked at again, and what it may read before it fails is bounded.

Two kinds of detectors. Tokens that carry their issuer's prefix are hidden wherever they stand. A value that is only
named as a secret (`password = …`, `Authorization: Bearer …`) is hidden when it also looks like one, because source
code names variables that way all day. Digests, git ids and UUIDs on their own are nobody's secret.

In a text of several lines everything is found that is found in each line alone, which `ledger.scrub` relies on.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_letters, digits
from typing import Final
from urllib.parse import quote

from surefoot.decisions.redacted import MARK

_MIN_VALUE_CHARS: Final = 8
_MARKER: Final = re.compile(f"({MARK.pattern})")


def redact(text: str) -> str:
    """The text with every secret that a detector knows replaced by `[redacted:<kind>]`; a second call changes nothing."""
    # A replacement can bring two pieces together or open a boundary, so that another detector finds something more.
    # Each round that changes anything leaves less text outside the markers, so the rounds end.
    while (cleaned := _once(text)) != text:
        text = cleaned
    return text


class Redactor:
    """`redact`, and these very values as well (the environment's secrets), also URL-quoted or inside JSON.

    A value of fewer than 8 characters is left alone: hiding it would tear up ordinary text. So is one that is known to all,
    such as `password` or `postgres` in a development environment: it is no secret, and code is full of these words.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms: set[str] = set()
        for value in values:
            stripped = value.strip()
            if len(stripped) >= _MIN_VALUE_CHARS and not _KNOWN_TO_ALL.fullmatch(stripped):
                forms |= {stripped, quote(stripped, safe="", errors="surrogateescape")}
                forms |= {
                    json.dumps(stripped, ensure_ascii=escaped)[1:-1] for escaped in (True, False)
                }
        # The longest first, so that no tail of a longer value is left behind.
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def __call__(self, text: str) -> str:
        """The text without secrets; a second call changes nothing."""
        while (cleaned := redact(self._without_values(text))) != text:
            text = cleaned
        return text

    def _without_values(self, text: str) -> str:
        for form in self._forms:
            if form in text:
                pieces = _MARKER.split(text)
                # Every second piece is a marker, which stays whole whatever the value is.
                pieces[::2] = [piece.replace(form, "[redacted:value]") for piece in pieces[::2]]
                text = "".join(pieces)
        return text


# --- what looks like a secret ---------------------------------------------------------------------

_NO_VALUE: Final = re.compile(
    r"(?i)example|change_?me|placeholder|dummy|your|redacted|x{4}|\*{3}|\.{3}|%\(|%s|^%"
    # A variable or a hash of `crypt`; a template; an index, a class of a regular expression.
    r"|^\$(?:[({]|\w+(?:$|[-$/:.@\[]))|^[<{]|<[^<>]*>|\{[^{}]*\}|\{\{|\$\{|\[(?:-?\d*\]|\^|a-z|0-9)"
)
_PASSWORD_SORTS: Final = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)[^!#$^&*]*[!#$^&*]")
"""Letters of both cases, a digit and a sign, as the rules for passwords have it; names have no such sign."""
_VERSION: Final = re.compile(r"(?i)[v^~]?\d+(?:\.\d+)+(?:[.+-]?[a-z]+[.-]?\d*)*")
_SEPARATORS: Final = frozenset("_-./:@ ")
_PAIRS: Final = (
    "thheineranreonatenndtiesorteofedisitalarsttontngsehaasouiolevecomedehiriroicneearacelich"
    "llbemasiomurcaeltalansdifohopeecprnoctusacotiltrlyncetutsssorsunlowageiewheewiemadolrtpo"
    "wenaulnitsmoowpaimmiaishirsuidosiviaamficivipligtuevldrympfeblabghtyopwosaayexkefrooavag"
    "ifapgrodbosprddoucbueiovbyrmepttocfaefcurnscgidayocrcldugaquueffbaeylsvaumppuplugook"
)
_COMMON_PAIRS: Final = frozenset(_PAIRS[place : place + 2] for place in range(0, len(_PAIRS), 2))
"""Pairs of letters that words are made of: nine in ten pairs of a name, one in four of random letters."""
_WORDY: Final = 0.45
_FEWEST_PAIRS: Final = 3
_FEWEST_CHARS: Final = 6
"""Different ones."""
_SHORTEST_OF_LETTERS: Final = 20
"""A shorter value without a digit or a sign is taken for a name."""
_FEWEST_OF_SESSION: Final = 16
_JUDGED_CHARS: Final = 80


def _is_random(value: str) -> bool:
    """Whether a value is more like a key than like a name, a path, a version or a placeholder."""
    if _NO_VALUE.search(value) or _VERSION.fullmatch(value):
        return False
    if _PASSWORD_SORTS.match(value):
        return True
    head = value[:_JUDGED_CHARS]
    plain = sum(char.isalpha() or char in _SEPARATORS for char in head)
    if len(set(head)) < _FEWEST_CHARS or (plain == len(head) and plain < _SHORTEST_OF_LETTERS):
        return False
    common = counted = 0
    for first, second in pairwise(head):
        if first in _SEPARATORS or second in _SEPARATORS or (first + second).isdecimal():
            continue
        counted += 1
        common += not (first.islower() and second.isupper()) and _is_common(first + second)
    return counted >= _FEWEST_PAIRS and common < _WORDY * counted


def _is_common(pair: str) -> bool:
    return pair.lower() in _COMMON_PAIRS


_KNOWN_TO_ALL: Final = re.compile(
    r"(?i)admin|guest|mysql|pass(?:wd|word)?|postgres|pwd?|root|secret|test|tiger|token|user(?:name)?"
)


def _is_password(value: str) -> bool:
    """Whether a password is one that somebody could lose; in a usage line it stands in brackets."""
    return not (_KNOWN_TO_ALL.fullmatch(value.strip("[]")) or _NO_VALUE.search(value))


def _is_password_of_url(value: str) -> bool:
    """The same; with a slash it may be the path of a URL that has no password."""
    if not _is_password(value):
        return False
    return "/" not in value or (len(value) >= _MIN_VALUE_CHARS and _is_random(value))


def _is_password_of_user(value: str) -> bool:
    """The same where prose and usage lines look alike: a short one of letters alone is a name."""
    is_name = len(value) < _SHORTEST_OF_LETTERS and all(
        c.isalpha() or c in _SEPARATORS for c in value
    )
    return _is_password(value) and not is_name


def _is_session(value: str) -> bool:
    """Whether a cookie among `a; b=…; c=…`, the first without its name, says who somebody is."""
    texts = (cookie.partition("=")[2] or cookie for cookie in value.split(";"))
    return any(len(text) >= _FEWEST_OF_SESSION and _is_random(text) for text in texts)


def _is_basic(value: str) -> bool:
    """Whether this is the base64 of `user:password`."""
    try:
        decoded = base64.b64decode(value, validate=True)
    except binascii.Error:
        return False
    user, _, password = decoded.partition(b":")
    return bool(user and password) and decoded.isascii() and decoded.decode().isprintable()


def _is_encoded_key(value: str) -> bool:
    """Whether this is the base64 of a private key's block, not of a certificate."""
    return b"PRIVATE KEY" in base64.b64decode(value[: len(value) // 4 * 4])


def _holds_key_text(value: str) -> bool:
    """Whether a PEM block is one, not only its title in a sentence."""
    return re.search(r"[A-Za-z0-9+/=]{24}", value) is not None


def _is_any(_value: str) -> bool:
    return True


# --- the detectors --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Detector:
    kind: str
    anchors: tuple[str, ...]
    """What the pattern starts with, searched for in any case; the pattern decides."""
    pattern: re.Pattern[str]
    """Its group `secret` is what is hidden."""
    accepts: Callable[[str], bool]


def _token(
    kind: str, anchors: str, pattern: str, accepts: Callable[[str], bool] = _is_any
) -> _Detector:
    # In source and in JSON an escape such as \n must not seem to be the token's first letter.
    whole = rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?P<secret>{pattern})"
    return _named(kind, anchors, whole, accepts)


def _named(kind: str, anchors: str, pattern: str, accepts: Callable[[str], bool]) -> _Detector:
    return _Detector(
        kind=kind, anchors=tuple(anchors.split()), pattern=re.compile(pattern), accepts=accepts
    )


_PEM_TITLE: Final = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_MARGIN: Final = r"(?:\d{1,6}[ \t]?[|:-]|\d{1,6}(?:\t|\\t)|[>|E+-])[ \t]{0,40}"
"""What a tool writes before each line of a file: its number, a quotation mark, pytest's `E`, the sign of a diff."""
_PEM_HEADER: Final = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID):[^\n\\]{0,200}"
_PEM_LINE: Final = rf"[A-Za-z0-9+/=]{{16}}|{_PEM_HEADER}|[ \t]{{0,40}}(?:\n|\\n)"
"""How a line of a key that was cut off begins."""
_PEM_END: Final = re.compile(rf"-----END {_PEM_TITLE}")
_BREAKS: Final = re.compile(r"\n|\\n")
_BASE64: Final = ascii_letters + digits + "+/="
_BEHIND_LINE: Final = " \t\r\\\"'+,"
_PEM_WHOLE: Final = 16
"""Letters that any line of a key has, but for its last."""
_NAME: Final = (
    r"(?i:passw(?:or)?d|passphrase|pwd|secret|token|credential|"
    # `pass` alone is a word of Python and of test reports.
    r"(?<=_)pass|(?<=[\"'])pass(?=\\{0,4}[\"'])|(?<![A-Za-z0-9_-])pass(?=[ \t]{0,4}[:=][ \t]{0,4}[\"'])|"
    r"(?:(?<=api)|(?<=api[_-])|(?<=auth)|(?<=auth[_-])|(?<=access|secret|master)|(?<=(?:access|secret|master)[_-])|"
    r"(?<=account|private|signing)|(?<=(?:account|private|signing)[_-])|(?<=encryption)|(?<=encryption[_-]))key)"
    # `tokenizer` and `SECRETARY` are other words; `tokens`, `secretKey` and `TOKEN_2` are not.
    r"[sS]?(?![a-z])(?!(?<=[A-Z])[A-Z])"
    r"(?![A-Za-z0-9_-]{0,40}(?i:name|id|path|file|url|uri|arn|type|version|field|header|env|var|variable|ttl|expiry"
    r"|expires|length|len|size|count|limit|hash|digest|checksum|sha\d*|fingerprint|regex|pattern|prefix|suffix|label"
    r"|hint|class|method|kind|format|template|policy|provider)s?(?![A-Za-z0-9_-]))"
    r"[A-Za-z0-9_-]{0,40}+"
)
_QUOTE: Final = r"\\{0,4}[\"'`]"
_ANNOTATION: Final = r"[ \t]{0,4}:[ \t]{0,4}[A-Za-z_][A-Za-z0-9_.|\[\] ]{0,40}(?==)"
_BECOMES: Final = r"[ \t]{0,8}(?::=|=>|={1,3}|:|(?<=[\"']),)[ \t]{0,8}"
_BREAK: Final = rf"[ \t]{{0,8}}\r?\n[ \t]{{0,40}}(?:{_MARGIN})?"
_NEXT_LINE: Final = (
    rf"(?:(?<!,)(?<!,[ \t])[(\\]?{_BREAK}(?=[bru]{{0,2}}{_QUOTE})|[>|][+-]?\d?{_BREAK})?"
)
"""The value of a name may stand in the next line: between quotes, or as a block of YAML."""
_VALUE: Final = (
    rf"(?:[bru]{{0,2}}(?P<quote>{_QUOTE})|(?=[^\s\"'`\\,;&<>(){{}}\[\]|=?]{{8,400}}+(?![(\[{{])))"
    # Between quotes any sign may stand, also as JSON escapes it; without them it may end the value.
    r"(?P<secret>(?(quote)(?:[^\s\"'`\\]|\\{1,4}u[0-9A-Fa-f]{4}){8,}+"
    r"|[^\s\"'`\\,;&<>(){}\[\]|=?]{8,}+={0,2}))"
)

_GAP: Final = rf"\s{{1,8}}(?:{_MARGIN})?"
_COOKIE_NAME: Final = r"[A-Za-z0-9!#$%&*+.^_|~-]{1,80}+"
_COOKIE_VALUE: Final = r"[^\s;,\"'`\\]{0,4096}+"

_DETECTORS: Final = (
    _token(
        "private-key",
        "-----BEGIN",
        rf"-----BEGIN {_PEM_TITLE}"
        rf"(?:[^-]*+(?:-(?!----)[^-]*+)*+-----END {_PEM_TITLE}"
        # One that was cut off: what still looks like its lines.
        rf"|(?:[A-Za-z0-9+/=]{{16,}}+|{_PEM_HEADER}|{_MARGIN}(?={_PEM_LINE})|[\s\"'+,]|\\[nrt])*+)",
        _holds_key_text,
    ),
    _token(
        "private-key",
        "LS0tLS1CRUdJT",  # `-----BEGIN`
        r"LS0tLS1CRUdJT[A-Za-z0-9+/]{40,}+={0,2}",
        _is_encoded_key,
    ),
    _token("aws-access-key", "AKIA ASIA ABIA ACCA", r"A[KSBC][IC]A[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _token(
        "github-token",
        "gh git",
        r"(?:gh[pousr]_[A-Za-z0-9]{36,}+|github_pat_[A-Za-z0-9_]{36,}+)",
    ),
    _token(
        "gitlab-token",
        "gl GR1348941",
        r"(?:gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt|ffct)-[A-Za-z0-9_.-]{20,}+"
        r"|GR1348941[A-Za-z0-9_-]{20,}+)",
        _is_random,
    ),
    _token(
        "slack-token",
        "xox xapp-",
        r"(?:xox[abceoprs]-[A-Za-z0-9-]{10,}+|xoxd-[A-Za-z0-9%/+=._-]{20,}+|xapp-\d-[A-Za-z0-9-]{20,}+)",
        _is_random,
    ),
    _named(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/]{24,}+)",
        _is_random,
    ),
    _token(
        "stripe-key",
        "sk_ rk_ whsec_",
        r"(?:[rs]k_(?:live|test)_[A-Za-z0-9]{16,}+|whsec_[A-Za-z0-9+/=]{24,}+)",
    ),
    _token(
        "google-key",
        "AIza GOCSPX- ya29.",
        r"(?:AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])|GOCSPX-[A-Za-z0-9_-]{20,}+|ya29\.[A-Za-z0-9_-]{30,}+)",
    ),
    _token(
        "model-key",
        "sk- gsk_ xai- hf_",
        r"(?:sk-[A-Za-z0-9_-]{20,}+|gsk_[A-Za-z0-9]{40,}+|xai-[A-Za-z0-9]{40,}+|hf_[A-Za-z0-9]{30,}+)",
        _is_random,
    ),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _token("pypi-token", "pypi-Ag", r"pypi-Ag[A-Za-z0-9_-]{50,}+"),
    _token(
        "jwt",
        "eyJ",
        # It may not start inside a run that was already tried, or many starts would scan the same run.
        r"(?<![_-])eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+",
    ),
    _token(
        "service-token",
        "SG. hvs. dckr_pat_ dop_v1_",
        r"(?:SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}|hvs\.[A-Za-z0-9_-]{24,}+"
        r"|dckr_pat_[A-Za-z0-9_-]{24,}+|dop_v1_[0-9a-f]{64})",
    ),
    _token(
        "service-token",
        "shp dapi SK gls glc_ lin_api_ ntn_ secret_ figd_ ATATT3 dp. sbp_ sb_secret_ rubygems_ AGE-SECRET-KEY-1 "
        "pplx- nvapi- r8_ PMAK- tvly- lsv2_ sq0",
        # Lengths and alphabets as in the rules of gitleaks and TruffleHog.
        r"(?:shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}|dapi[a-f0-9]{32}(?:-\d)?|SK[A-Fa-f0-9]{32}"
        r"|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}+={0,3}"
        r"|lin_api_[A-Za-z0-9]{40}|ntn_[0-9]{11}[A-Za-z0-9]{35}|secret_[A-Za-z0-9]{43}|figd_[A-Za-z0-9_-]{40,}+"
        r"|ATATT3[A-Za-z0-9_=-]{150,}+|dp\.(?:ct|pt|st(?:\.[a-z0-9_-]{2,35})?|sa|scim|audit)\.[A-Za-z0-9]{40,44}"
        r"|sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}+|rubygems_[a-f0-9]{48}"
        r"|AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}|pplx-[A-Za-z0-9]{40,}+|nvapi-[A-Za-z0-9_-]{50,}+|r8_[A-Za-z0-9]{37}"
        r"|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|tvly-[A-Za-z0-9-]{24,}+|lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"
        r"|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}+)(?![A-Za-z0-9_])",
        _is_random,
    ),
    # Of these only the last part is found, where they have no beginning to search for: an id stands there.
    _named(
        "service-token",
        ":A",
        r"(?<=[0-9]{8}):(?P<secret>A[A-Za-z0-9_-]{34})(?![A-Za-z0-9_-])",  # Telegram
        _is_random,
    ),
    _named(
        "service-token",
        ".",
        r"(?:(?<=[MNO][A-Za-z0-9_-]{23})|(?<=[MNO][A-Za-z0-9_-]{25}))\.[A-Za-z0-9_-]{6}\."
        r"(?P<secret>[A-Za-z0-9_-]{27,38})(?![A-Za-z0-9_-])",  # Discord
        _is_random,
    ),
    _named(
        "service-token",
        ".atlasv1.",
        r"(?<=[A-Za-z0-9]{14})\.atlasv1\.(?P<secret>[A-Za-z0-9_=-]{60,70})",  # Terraform
        _is_random,
    ),
    _named(
        "discord-webhook",
        "discord",
        r"(?i:discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/)\d{17,20}/(?P<secret>[A-Za-z0-9_-]{60,}+)",
        _is_random,
    ),
    _named("azure-key", "AccountKey=", r"AccountKey=(?P<secret>[A-Za-z0-9+/=]{40,}+)", _is_any),
    _named(
        "url-password",
        "://",
        # A number up to a slash is a port; what begins with a bracket is an address or a mark of ours.
        r"://(?!\[)[^\s/:@\"'<>\\]{0,80}+:(?!\d{1,5}[/?#])(?P<secret>[^\s@\"'<>\\]{1,200}+)@"
        r"(?!(?:[A-Za-z0-9-]{1,63}\.){0,4}example\.(?:com|net|org))",
        _is_password_of_url,
    ),
    _named("url-password", "://", r"://(?P<secret>[A-Za-z0-9._~%-]{20,200}+):?@", _is_random),
    _named(
        "password",
        "curl",
        r"(?i:curl)\b[^\n|;]{0,200}?[ \t](?:-[a-zA-Z]{0,8}u|--user)[ \t=]{0,4}"
        r"[\"']?[^\s:\"'$]{1,80}:(?P<secret>[^\s\"'`\\]{1,200}+)",
        _is_password_of_user,
    ),
    _named(
        "password",
        "machine default",
        rf"(?:machine{_GAP}\S{{1,200}}+|default){_GAP}login{_GAP}\S{{1,200}}+{_GAP}"
        rf"(?:account{_GAP}\S{{1,200}}+{_GAP})?password{_GAP}(?P<secret>[^\s\"'\\]{{1,200}}+)",
        _is_password_of_user,
    ),
    _named(
        "cookie",
        "cookie",
        rf"(?i:cookie)(?:{_QUOTE})?[ \t]{{0,4}}:[ \t]{{0,4}}(?:{_QUOTE})?{_COOKIE_NAME}="
        rf"(?P<secret>{_COOKIE_VALUE}(?:;[ \t]{{0,4}}{_COOKIE_NAME}={_COOKIE_VALUE}){{0,50}}+)",
        _is_session,
    ),
    _named(
        "authorization",
        "auth",
        rf"(?i:auth)(?:{_QUOTE})?{_BECOMES}(?:{_QUOTE})?(?P<secret>[A-Za-z0-9+/]{{8,}}+={{0,2}})",
        _is_basic,
    ),
    _named(
        "authorization",
        "authorization bearer",
        rf"(?i:authorization(?:{_QUOTE})?[ \t]{{0,4}}[:=,][ \t]{{0,4}}(?:{_QUOTE})?(?:[a-z-]{{2,20}}[ \t]{{1,4}})?"
        r"|bearer[ \t]{1,4})(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)",
        _is_random,
    ),
    _named(
        "authorization",
        "basic",
        r"(?i:basic)[ \t]{1,4}(?P<secret>[A-Za-z0-9+/]{8,}+={0,2})",
        _is_basic,
    ),
    _named(
        "secret",
        "pass pwd secret token credential key",
        rf"{_NAME}(?:{_QUOTE}\]?)?(?:{_ANNOTATION})?{_BECOMES}{_NEXT_LINE}{_VALUE}",
        _is_random,
    ),
    _named(
        "secret",
        "pass pwd secret token credential key",
        rf"{_NAME}>\s{{0,8}}(?P<secret>[^\s<>]{{8,400}}+)\s{{0,8}}</",
        _is_random,
    ),
    # A name and its value in fields beside each other: manifests of Kubernetes, settings in XML.
    _named(
        "secret",
        "pass pwd secret token credential key",
        rf"{_NAME}(?:{_QUOTE})?,?(?:\s|\\[nrt]){{1,40}}(?:{_MARGIN})?(?:{_QUOTE})?(?i:value)(?:{_QUOTE})?"
        rf"[ \t]{{0,4}}[:=][ \t]{{0,4}}{_VALUE}",
        _is_random,
    ),
    _named(
        "password",
        "sshpass mysql mariadb",
        r"(?i:sshpass[ \t]{1,4}-p[ \t]{0,4}|(?:mysql|mariadb)(?:admin|dump)?\b[^\n|;]{0,200}?[ \t]-p)[\"']?"
        r"(?![\d:.]{1,40}(?:\s|$))(?P<secret>[^\s\"'`\\-][^\s\"'`\\]{5,200}+)",
        _is_password_of_user,
    ),
    _named(
        "secret",
        "--",
        rf"--(?i:[a-z]{{1,16}}-){{0,2}}{_NAME}[ \t]{{1,4}}{_VALUE}",
        _is_random,
    ),
)
_ANCHORS: Final = tuple(
    (anchor.lower(), rank, one) for rank, one in enumerate(_DETECTORS) for anchor in one.anchors
)


def _once(text: str) -> str:
    # U+0130 is the one character whose lower case is longer, and places in both texts have to agree.
    lowered = text.replace("\u0130", "i").lower()
    possible = [entry for entry in _ANCHORS if entry[0] in lowered]
    found = [
        (start, rank, end, one.kind)
        for anchor, rank, one in possible
        for start, end in _secrets(text, lowered, anchor, one)
    ]
    found += [(start, 0, end, "private-key") for start, end in _ends_of_keys(text)]
    return _without(text, found) if found else text


def _ends_of_keys(text: str) -> Iterator[tuple[int, int]]:
    """Keys whose beginning was cut off, as by a diff's hunk or the context of a match."""
    done = 0
    for end in _PEM_END.finditer(text):
        begin = _begin_of_key(text, done, end.start())
        if _holds_key_text(text[begin : end.start()]):
            yield begin, end.end()
        done = end.end()


def _begin_of_key(text: str, first: int, end: int) -> int:
    """Where the lines begin, not before `first`, that end in base64 up to `end`, whatever stands in their margin."""
    begin, shortest = end, _PEM_WHOLE  # beside the end itself a margin may stand
    breaks = [(m.start(), m.end()) for m in _BREAKS.finditer(text, first, end)]
    starts, ends = [first, *(b for _, b in breaks)], [*(a for a, _ in breaks), end]
    for start, stop in reversed(list(zip(starts, ends, strict=True))):
        line = text[start:stop].rstrip(_BEHIND_LINE)
        at = start + len(line.rstrip(_BASE64))
        at += text[at - 1 : at] == "\\"  # \t in JSON: a letter of the escape, not of the key
        length = start + len(line) - at
        if length >= shortest:
            begin, shortest = at, _PEM_WHOLE
        elif stop != end and (line or begin != end):
            break
        if stop == end:
            shortest = 1
    return begin


def _secrets(
    text: str, lowered: str, anchor: str, detector: _Detector
) -> Iterator[tuple[int, int]]:
    place = lowered.find(anchor)
    while place >= 0:
        match = detector.pattern.match(text, place)
        after = place + len(anchor)
        if match and detector.accepts(match["secret"]):
            yield match.span("secret")
            after = match.end()
        elif match:
            # What was taken for the value in the next line may be a name with its own.
            after = text.find("\n", place, match.end()) + 1 or match.end()
        place = lowered.find(anchor, after)


def _without(text: str, found: list[tuple[int, int, int, str]]) -> str:
    pieces: list[str] = []
    begun = done = 0
    for start, _, end, kind in sorted(found):
        if start >= done:
            pieces += (text[done:start], f"[redacted:{kind}]")
            begun, done = start, end
        elif start > begun:
            # It reaches over the end of another, and is hidden with it.
            done = max(done, end)
        # Of two that start together the first detector is right: `token:ghp_…@host` ends where the token does.
    return "".join((*pieces, text[done:]))
