"""Secrets are hidden, and nothing else is touched.

No example stands here as it is, or every scanner would raise alarm: they are put together from a prefix and noise.
"""

import base64
import json
import random
import string
import sysconfig
import time
from pathlib import Path

import pytest

import surefoot
from surefoot.policy.redaction import Redactor, redact

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM, HEX, B32 = LOWER + UPPER + DIGITS, DIGITS + "abcdef", UPPER + "234567"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
URL_SAFE, B64 = ALNUM + "_-", ALNUM + "+/"


def noise(length: int, alphabet: str = ALNUM, seed: int = 1) -> str:
    """The same random text every time."""
    return "".join(random.Random(f"{seed}{alphabet}").choices(alphabet, k=length))


N16, N20, N24, N32, N36, N40 = (noise(n) for n in (16, 20, 24, 32, 36, 40))
PASSWORD = noise(14, ALNUM + "!#^*+")
JWT = f"eyJ{noise(33, URL_SAFE)}.eyJ{noise(60, URL_SAFE)}.{noise(43, URL_SAFE)}"
KEY_LINES = "\n".join(noise(64, B64, seed) for seed in range(4))
RSA, EC = "RSA PRIVATE" + " KEY", "EC PRIVATE" + " KEY"
BASIC = base64.b64encode(b"somebody:open sesame").decode()


def pem64(title: str) -> str:
    """A PEM block as a secret of Kubernetes holds it."""
    block = f"-----BEGIN {title}-----\n{KEY_LINES}\n-----END {title}-----\n"
    return base64.b64encode(block.encode()).decode()


HIDDEN = [
    # kind, text around, secret
    ("aws-access-key", "{}", f"AKIA{noise(16, B32)}"),
    ("aws-access-key", "id={};", f"ASIA{noise(16, B32)}"),
    ("aws-access-key", "first line\\n{} second", f"AKIA{noise(16, B32)}"),
    ("github-token", "git clone https://{}@github.com/a/b", f"ghp_{N36}"),
    ("github-token", "{}", f"gho_{N36}"),
    ("github-token", "x-access-token:{}@", f"ghs_{N36}"),
    ("github-token", "'{}'", f"github_pat_{noise(22)}_{noise(59)}"),
    ("gitlab-token", "PRIVATE-TOKEN: {}", f"glpat-{noise(20, URL_SAFE)}"),
    ("gitlab-token", "<{}>", f"glrt-{noise(24, URL_SAFE)}"),
    ("slack-token", "{}", f"xoxb-{noise(12, DIGITS)}-{noise(12, DIGITS)}-{N24}"),
    ("slack-token", "({})", f"xapp-1-{noise(11, UPPER + DIGITS)}-{noise(13, DIGITS)}-{noise(40, HEX)}"),
    ("slack-webhook", "https://hooks.slack.com/services/{} ok", f"T{noise(8, UPPER + DIGITS)}/B{noise(8, UPPER + DIGITS)}/{N24}"),
    ("stripe-key", "{}", f"sk_live_{N24}"),
    ("stripe-key", "k={}", f"rk_test_{N24}"),
    ("stripe-key", "{}", f"whsec_{N32}"),
    ("google-key", "?key={}&q=1", f"AIza{noise(35, URL_SAFE)}"),
    ("google-key", "{}", f"GOCSPX-{noise(28, URL_SAFE)}"),
    ("google-key", "{}", f"ya29.{noise(60, URL_SAFE)}"),
    ("model-key", "export X={}", f"sk-{noise(48)}"),
    ("model-key", "{}", f"sk-proj-{noise(74, URL_SAFE)}"),
    ("model-key", "client(api_key='{}')", f"sk-ant-api03-{noise(93, URL_SAFE)}AA"),
    ("model-key", "{}", f"sk-or-v1-{noise(64, HEX)}"),
    ("model-key", "{}", f"gsk_{noise(52)}"),
    ("model-key", "{}", f"xai-{noise(80)}"),
    ("model-key", "{}", f"hf_{noise(34)}"),
    ("npm-token", "//registry/:_authToken={}", f"npm_{N36}"),
    ("pypi-token", "password = {}", f"pypi-AgEIcHlwaS5vcmc{noise(80, URL_SAFE)}"),
    ("jwt", "token {} end", JWT),
    ("jwt", "Cookie: session={}", JWT),
    ("service-token", "{}", f"pplx-{noise(48)}"),
    ("service-token", "{}", f"nvapi-{noise(64, URL_SAFE)}"),
    ("service-token", "{}", f"r8_{noise(37)}"),
    ("service-token", "{}", f"PMAK-{noise(24, HEX)}-{noise(34, HEX)}"),
    ("service-token", "{}", f"tvly-dev-{N32}"),
    ("service-token", "{}", f"lsv2_pt_{noise(32, HEX)}_{noise(10, HEX)}"),
    ("service-token", "{}", f"sq0atp-{noise(22, URL_SAFE)}"),
    ("secret", "- name: DB_PASSWORD\n  value: {}\n", N16),
    ("secret", " 7 |   - name: API_KEY\n 8 |     value: {}\n", N16),
    ("secret", '[{{"name": "DB_PASSWORD", "value": "{}"}}]', N16),
    ("secret", '"- name: DB_PASSWORD\\n  value: {}\\n"', N16),
    ("secret", '<add key="DbPassword" value="{}"/>', N16),
    ("password", "mysql -u root -p{} app", PASSWORD),
    ("password", "sshpass -p '{}' ssh host", PASSWORD),
    ("service-token", "{}", f"SG.{noise(22, URL_SAFE)}.{noise(43, URL_SAFE)}"),
    ("service-token", "{}", f"hvs.{noise(90, URL_SAFE)}"),
    ("service-token", "{}", f"dckr_pat_{noise(27, URL_SAFE)}"),
    ("azure-key", "AccountName=a;{};x", None),
    ("private-key", "before\n{}\nafter", f"-----BEGIN {RSA}-----\n{KEY_LINES}\n-----END {RSA}-----"),
    ("private-key", "{}", f"-----BEGIN PRIVATE{''} KEY-----\n{KEY_LINES}\n-----END PRIVATE{''} KEY-----"),
    ("private-key", '"{}"', f"-----BEGIN {EC}-----\\n{noise(64, B64)}\\n-----END {EC}-----"),
    ("private-key", "{}", f"-----BEGIN {RSA}-----\n{KEY_LINES}"),
    ("private-key", "{}", f"-----BEGIN {RSA}-----\nProc-Type: 4,ENCRYPTED\n\n{KEY_LINES}\n-----END {RSA}-----"),
    ("url-password", "postgres://app:{}@db:5432/x", PASSWORD.replace("#", "-")),
    ("url-password", "https://me:{}@git.acme.io/", "hunter2"),
    ("authorization", "Authorization: Bearer {}", noise(40, URL_SAFE)),
    ("authorization", "-H 'authorization: token {}'", noise(40, HEX)),
    ("authorization", '{{"Authorization": "Bearer {}"}}', N32),
    ("authorization", "Bearer {}", noise(40)),
    ("authorization", "Authorization: Basic {}", BASIC),
    ("authorization", "proxy uses basic {} here", BASIC),
    ("secret", "password = '{}'", PASSWORD),
    ("secret", "DB_PASSWORD={}\n", N16),
    ("secret", "api_key: {}", noise(32, HEX)),
    ("secret", '{{"client_secret":"{}"}}', N24),
    ("secret", "aws_secret_access_key = {}", noise(40, B64).replace("/", "+")),
    ("secret", 'api-key: str = "{}"', N24),
    ("secret", "config[\"apiKey\"] = '{}'", N24),
    ("secret", "SECRET_KEY := `{}`", N32),
    ("secret", "os.environ.setdefault('API_TOKEN', '{}')", N24),
    ("secret", "'passwd' => '{}',", PASSWORD),
    ("secret", "X-Auth-Token: {}", N32),
    ("secret", "login --password {} now", N16),
    ("secret", "https://host/?access_token={}&x=1", N32),
    ("secret", '"{{\\"token\\": \\"{}\\"}}"', N24),
    ("secret", "private_key_id=ok encryption_key={}", noise(32, HEX)),
    *(
        ("secret", 'DB_PASSWORD="{}"', f"{N16[:5]}{sign}{N16[5:]}{sign}")
        for sign in (",", ";", "&", "<", ">", "(", ")", "{", "}", "[", "]", "|", "=", "?")
    ),
    ("secret", "password: '{}' # of db", f"${PASSWORD}"),
    ("secret", 'password = "{}"', "$uper" + "S3cret!9"),
    ("secret", "password: {}", "Correct" + "Horse#1"),
    ("gitlab-token", "{}", f"gloas-{noise(64, HEX)}"),
    ("gitlab-token", "{}", f"glimt-{noise(25, LOWER + DIGITS)}"),
    ("gitlab-token", "{}", f"glffct-{noise(20, URL_SAFE)}"),
    ("gitlab-token", "register {} now", f"GR1348941{noise(20, URL_SAFE)}"),
    ("slack-token", "{}", f"xoxc-{noise(12, DIGITS)}-{noise(12, DIGITS)}-{noise(64, HEX)}"),
    ("slack-token", "d={};", f"xoxd-{noise(30)}%2B{noise(40)}%3D"),
    ("service-token", "{}", f"shpat_{noise(32, HEX)}"),
    ("service-token", "{}", f"shpss_{noise(32, HEX)}"),
    ("service-token", "{}", f"dapi{noise(32, HEX)}-2"),
    ("service-token", "key {},", f"SK{noise(32, HEX)}"),
    ("service-token", "{}", f"glsa_{N32}_{noise(8, HEX)}"),
    ("service-token", "{}", f"glc_{noise(120)}=="),
    ("service-token", "{}", f"lin_api_{N40}"),
    ("service-token", "{}", f"ntn_{noise(11, DIGITS)}{noise(35)}"),
    ("service-token", "{}", f"secret_{noise(43)}"),
    ("service-token", "{}", f"figd_{noise(40, URL_SAFE)}"),
    ("service-token", "me@acme.io:{}", f"ATATT3{noise(186, URL_SAFE)}"),
    ("service-token", "{}", f"dp.pt.{noise(43)}"),
    ("service-token", "{}", f"dp.st.dev_1.{noise(43)}"),
    ("service-token", "{}", f"sbp_{noise(40, HEX)}"),
    ("service-token", "{}", f"sb_secret_{noise(31, URL_SAFE)}"),
    ("service-token", "{}", f"rubygems_{noise(48, HEX)}"),
    ("service-token", "{}\n", f"AGE-SECRET-KEY-1{noise(58, BECH32)}"),
    ("service-token", f"{noise(14)}.atlasv1.{{}}", noise(67)),
    ("service-token", f"/bot{noise(10, DIGITS)}:{{}}/send", f"AA{noise(33, URL_SAFE)}"),
    ("service-token", f"M{noise(23)}.{noise(6)}.{{}}", noise(27, URL_SAFE)),
    ("service-token", f"O{noise(25)}.{noise(6)}.{{}}", noise(38, URL_SAFE)),
    ("discord-webhook", f"https://discord.com/api/webhooks/{noise(18, DIGITS)}/{{}}", noise(68, URL_SAFE)),
    ("discord-webhook", f"https://discordapp.com/api/v10/webhooks/{noise(19, DIGITS)}/{{}}", noise(68, URL_SAFE)),
    ("private-key", "tls.key: {}\ntype: x", pem64(RSA)),
    ("password", "machine github.com login me password {}\n", N20),
    ("password", "machine a.b\n  login me\n  account x\n  password {}\n", "hunter2"),
    ("password", " 8 | default\n 9 |   login me\n10 |   password {}\n", N20),
    ("password", "curl -sS -u me:{} https://acme.io/x", N20),
    ("password", "$ curl -X POST --user='me:{}' u", "hunter2"),
    ("cookie", "Cookie: session={}", N24),
    ("cookie", "GET /\r\ncookie: theme={}\r\n", f"dark; sid={N32}; lang=en"),
    ("cookie", "Set-Cookie: sid={}; HttpOnly", f"{N32}; Path=/"),
    ("cookie", '{{"Cookie": "sid={}"}}', N32),
    ("authorization", '{{"auths": {{"acme.io": {{"auth": "{}"}}}}}}', BASIC),
    ("authorization", "//registry.acme.io/:_auth={}", BASIC),
    ("secret", "<password>{}</password>", N16),
    ("secret", "<db:clientSecret>\n  {}\n</db:clientSecret>", N24),
    ("secret", '{{"user": "me", "pass": "{}"}}', N16),
    ("secret", "createTransport({{user: 'me', pass: '{}'}})", PASSWORD),
    ("secret", "SMTP_PASS={}\n", N16),
    ("url-password", "https://{}@dev.azure.com/acme", noise(52, LOWER + DIGITS)),
    ("url-password", "https://{}:@api.acme.io/v1", N24),
    ("url-password", "postgres://app:{}@db/x", f"{N16[:5]}/{N16[5:]}"),
    ("url-password", "postgres://app:{}@db/x", f"{N16[:5]}[{N16[5:]}"),
    ("secret", '{{\n  "token":\n    "{}"\n}}', N24),
    ("secret", "password: >\n  {}\nnext: 1", N16),
    ("secret", "token: |-\r\n  {}\r\n", N24),
    ("secret", 'password = (\n    "{}"\n)', PASSWORD),
    ("secret", "token = \\\n    '{}'", N24),
    ("secret", ' 7 | password = (\n 8 |     "{}"\n 9 | )', PASSWORD),
    ("secret", "> token:\n>   '{}'", N24),
    ("secret", "password: >\n  password = '{}'", N16),
    ("secret", '{{"password":"{}"}}', f"{N16}\\u0026{N16}"),
    ("secret", '"{{\\"password\\": \\"{}\\"}}"', f"{N16}\\\\u003c{N16}"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "around", "secret"), HIDDEN, ids=[f"{k}-{n}" for n, (k, _, _) in enumerate(HIDDEN)]
)
def test_a_secret_is_hidden_and_its_surroundings_stay(
    kind: str, around: str, secret: str | None
) -> None:
    """Only the secret is replaced, by its kind; a second pass changes nothing."""
    if secret is None:
        around, secret = around.format("AccountKey={}"), noise(86, B64) + "=="
    hidden = redact(around.format(secret))
    assert hidden == around.format(f"[redacted:{kind}]")
    assert redact(hidden) == hidden


ENCRYPTED = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{noise(32, HEX)}\n\n"
MARGINS = {
    "none": "{line}",
    "file_read": "{number:>2} | {line}",
    "narrow": "{number:5}| {line}",
    "cat -n": "{number:6}\t{line}",
    "grep -n": "{number}:{line}",
    "quotation": "> {line}",
    "pytest": "E   {line}",
    "added": "+{line}",
    "removed": "-{line}",
}


@pytest.mark.parametrize("header", ["", ENCRYPTED], ids=["plain", "encrypted"])
@pytest.mark.parametrize("margin", MARGINS.values(), ids=MARGINS)
def test_a_key_that_was_cut_off_is_hidden_behind_any_margin(margin: str, header: str) -> None:
    """As a tool shows the first lines of its file, also as JSON; what follows them stays."""
    lines = f"-----BEGIN {RSA}-----\n{header}{KEY_LINES}".split("\n")
    text = "\n".join(margin.format(number=n, line=line) for n, line in enumerate(lines, 1))
    first = text.partition("-----BEGIN")[0]
    assert redact(text) == f"{first}[redacted:private-key]"
    quoted, head = json.dumps(text), json.dumps(first)[:-1]
    assert redact(quoted) == f"{head}[redacted:private-key]"
    assert (
        redact(f"{text}\nE   assert x\n> and on")
        == f"{first}[redacted:private-key]E   assert x\n> and on"
    )


REACHED = {**MARGINS, "rg": "src/keys.py-{number}-{line}", "context": " {line}"}


@pytest.mark.parametrize("margin", REACHED.values(), ids=REACHED)
def test_a_key_whose_beginning_was_cut_off_is_hidden_behind_any_margin(margin: str) -> None:
    """As a diff or a search shows what stands above a line; what stands above and below it stays, also as JSON."""
    tail = noise(17, B64)[1:]
    lines = f"{KEY_LINES}\n{tail}==\n-----END {RSA}-----\nDEBUG = True".split("\n")
    text = "\n".join(margin.format(number=n, line=line) for n, line in enumerate(lines, 25))
    below = text.partition(f"-----END {RSA}-----")[2]
    for around in (text, f"@@ -1,3 +1,4 @@\n\n{text}"):
        above = around.partition(KEY_LINES.split("\n")[0])[0]
        # A sign of a diff may be one of base64.
        hidden = (
            f"{above}[redacted:private-key]{below}",
            f"{above.removesuffix('+')}[redacted:private-key]{below}",
        )
        assert redact(around) in hidden
        assert json.loads(redact(json.dumps(around))) in hidden


@pytest.mark.parametrize("line", ["", "X", noise(15, B64)], ids=["none", "one letter", "fifteen"])
def test_the_last_line_of_a_key_may_be_short(line: str) -> None:
    """It is what is left over; all others are as long as each other."""
    for between in ("\n", ""):
        text = f"import os\n{KEY_LINES}\n{line}{between}-----END {RSA}-----"
        assert redact(text) == "import os\n[redacted:private-key]"


SHA1, SHA256, UUID = noise(40, HEX), noise(64, HEX), "9b2f6c1e-3d4a-4f5b-8c7d-0e1f2a3b4c5d"
LEFT_ALONE = [
    "",
    "plain prose about a password that nobody wrote down",
    SHA1,
    SHA256,
    noise(128, HEX),
    UUID,
    f"commit {SHA1}\nAuthor: A <a@b.c>",
    f"index {SHA1[:7]}..{SHA256[:7]} 100644",
    f"sha256:{SHA256}",
    f"--hash=sha256:{SHA256}",
    f"sha512-{noise(86, B64)}==",
    f"password_hash = '{SHA256}'",
    f"token_digest: {SHA256}",
    f"secret_id = {UUID}",
    f'"fingerprint": "{SHA256}"',
    f'{{"candidate_id":"{SHA256}","tree":"{SHA1}"}}',
    f'{{"caused_by":"20260101-000000-0001:7","hash":"{SHA256}"}}',
    "password = getpass.getpass()",
    "password = os.environ['DB_PASSWORD_2024']",
    "token = self.tokens[position]",
    "token = tokenize.generate_tokens1(line)",
    "secret = base64.b32decode(seed)",
    "api_key = config.API_KEY_V2",
    "api_key=settings.openai_api_key",
    "api_key: str | None = None",
    "def login(user: str, password: str) -> Token:",
    "if token == other_token:",
    "password: 'correct horse battery staple'",
    "password = 'changeme123'",
    "password = 'your-password-1'",
    "password = 'xxxxxxxxxxxx1'",
    "api_key = '<your api key 123>'",
    "API_KEY=${OPENAI_KEY_2}",
    "api_key: '{{ vault_key_1 }}'",
    "token: '%(token1)s'",
    "password=$DB_PASSWORD1",
    'password="$DB_PASSWORD1"',
    'password = "no-digit-Is-in-it!"',
    "token = 'Bearer-Of-Version-2'",
    'password_error = "Sorry!1"',
    "gloas-and-glimt-are-two-words-of-ours",
    "GR1348941 begins a token",
    "xoxd-is-a-cookie-of-a-browser",
    "shpat_" + "x" * 32,
    f"shpat_{noise(33, HEX)}",
    f"dapi{noise(20, HEX)}",
    f"SK{noise(33, HEX)}",
    f"TASK{noise(32, HEX)}",
    f"secret_{noise(44)}",
    "secret_of_the_third_version_with_43_characters",
    "glsa_token_of_a_service_account_in_grafana",
    "lin_api_key_of_linear_which_is_a_tracker_ok",
    "dp.pt.is the prefix of doppler",
    "rubygems_version_3_5_4_of_the_package_index_now",
    "AGE-SECRET-KEY-1 comes first",
    "acme.atlasv1.example",
    "12345678" + ":And_then_a_name_of_thirty_five_char",
    f"1234567:AA{noise(33, URL_SAFE)}",
    "MyVeryLongModuleNameForIt.config.the_attribute_with_a_name",
    "https://discord.com/api/webhooks/123456789012345678/TOKEN",
    f"tls.crt: {pem64('CERTIFICATE')}",
    "LS0tLS1CRUdJTiBpcyBob3cgaXQgYmVnaW5z",
    "machine learning needs a login page, whose password is reset",
    "machine host login user password secret",
    "machine host login me password [redacted:password]",
    "curl -u user:password https://x",
    'curl -u "$USER:$PASS_1" https://x',
    "curl -u username:api_token https://x",
    "curl -s -H 'accept: a/b' https://x:8080/a1",
    "Cookie: theme=dark; lang=en_GB; page=12",
    "Set-Cookie: name=value; Max-Age=3600; Path=/",
    "Cookie: session=[redacted:cookie]",
    "cookies: tests/unit/test_cookie_jar9.py=3",
    "auth: true",
    '"auth": "basic1auth2"',
    "auth = HTTPBasicAuth(user1, pw2)",
    "<password>changeme</password>",
    "<password>your-password-1</password>",
    "<secret>a list of 3 words</secret>",
    '<label class="password">Password-1234</label>',
    '{"pass": 3, "fail": 0}',
    "PASS: tests/t-1234.sh",
    "n_pass = count_passed9(x)",
    "    pass  # n0th1ng-h3re",
    "https://some-long-user-name@host/x",
    "https://[redacted:url-password]@host/",
    "docker://image:v1/sub@x",
    "https://registry:5000/app-a1b2@sha256:9",
    "postgresql://user[:password]@host",
    "http://[::1]:8080/a1b2@x",
    "password:\n  help: 'h3lp of 4 words'",
    "password:\n  t3xt_w9_th0ut_quotes",
    "password = (\n    config['PASSWORD_V2']\n)",
    "token: |\n  echo hello-world-1",
    'class Token:\n    """R2D2-c3po-x9"""',
    f'__all__ = [\n    "PrivateKey",\n    "{N24}",\n]',
    f"password_hash:\n  '{SHA256}'",
    f"token:\n\n'{N24}'",
    'password="${DB_PASSWORD_1}"',
    'password="$(pass show db-1)"',
    "password = '$6$rounds=5000$a1B2c3D4$e5F6g7H8'",
    'token = "$HOME/.tok3n-x9"',
    'password="{{db_password_1}}"',
    "password = f'{user_9}-{pin_7}'",
    "password = '<db-pass-1>'",
    'token = "[a-z0-9_]+|x{3,4}"',
    'token = "Jobs[-1].J0bId"',
    'token = "next(tokens)"',
    'password: "contact us, or ask (nobody)"',
    '"password=" + quote("a,b;c")',
    "token_url = 'https://auth1.host2.io/v2/t0ken'",
    "secret_name = 'projects/12345/secrets/x1y2z3'",
    "key = 'a1b2c3d4e5f6g7h8'",
    "monkey = 'a1b2c3d4e5f6g7h8'",
    "tokenizer = 'bert-base-uncased-v1-2b4d'",
    "TOKENIZERS_PARALLELISM=f4ls3-v4lu3",
    "tokenizers==0.21.0rc1",
    "js-tokens@4.0.0: https://registry.yarnpkg.com/js-tokens/-/js-tokens-4.0.0.tgz",
    '"js-tokens": "^4.0.0"',
    "max_tokens: 4096, prompt_tokens: 12345678",
    "prompt_tokens=120 completion_tokens=30",
    "secrets.token_hex(16)",
    "secretary: b0b4n1-sm1th7x",
    "authorization is checked in middleware2",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    'headers["Authorization"] = "Bearer " + token',
    "the bearer authentication-scheme-of-rfc6750 says",
    "basic authentication",
    "Basic assumptions hold",
    "http://localhost:8080/path@x",
    "https://host/a:b@c",
    "git@github.com:owner/repo.git",
    "ssh://git@host:22/x",
    "http://user:password@proxy.example.com:3128/",  # pragma: allowlist secret
    "postgres://postgres:postgres@localhost/test",  # pragma: allowlist secret
    "https://abc:xyz@example.com/",
    "https://abc:xyz@proxy.example.org:8080",
    "postgres://{user}:{password}@{host}/db",
    "mysql://%(user)s:%(password)s@host",
    "task-management-board-2024-with-many-words",
    "sk-toggleable__content-arrow-container-1",
    "disk-based-index-0123456789abcdef",
    "AKIA is how the ids begin",
    "NAKIA234567ABCDEFGHIJ",  # pragma: allowlist secret
    f"AKIA{noise(30, B32)}",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    f'if "-----BEGIN {RSA}-----" in text:',
    f'text = ask()\nif "-----END {RSA}-----" in text:',
    f"end\n\n-----END {RSA}-----\n",
    f"> -----BEGIN {RSA}-----\n> is how it begins\nE   assert 1\n 2 | Version: 3",
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: database-credentials",
    "- name: TOKEN_TTL\n  value: 9f8a7b6c5d4e3f2a",
    "mysql -u root -p app",
    "docker run mysql -p3306:3306",
    "mysqldump --single-transaction -p{password} app",
    "eyJ is base64 of an opening brace",
    "eyJhbGciOiJIUzI1NiJ9",
    "ghp_short",
    "npm_config_registry=https://registry.npmjs.org",
    "npm_lifecycle_event",
    "pypi-simple==1.6.0",
    "hf_hub_download(repo_id='x')",
    "from hooks.slack.com import services",
    "[redacted:secret]",
    "password = [redacted:secret]",
    "https://me:[redacted:url-password]@host/",
    "Authorization: Bearer [redacted:authorization]",
    "İstanbul: token İİİ",
]


@pytest.mark.parametrize("text", LEFT_ALONE, ids=range(len(LEFT_ALONE)))
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    """Digests, ids, names, calls, versions, placeholders, and what was hidden before."""
    assert redact(text) == text


def test_there_are_enough_examples() -> None:
    """Of both sorts."""
    assert len(HIDDEN) >= 40
    assert len(LEFT_ALONE) >= 60


def test_our_own_source_is_untouched() -> None:
    """The detectors do not find themselves."""
    for path in Path(surefoot.__file__).parent.rglob("*.py"):
        text = path.read_text()
        assert redact(text) == text, path


def test_the_standard_library_is_untouched() -> None:
    """Ten megabytes of ordinary code, with its tokens, keys and passwords in names and examples."""
    root = Path(sysconfig.get_path("stdlib"))
    files = [p for p in root.rglob("*.py") if not {"test", "tests", "site-packages"} & {*p.parts}]
    assert len(files) > 500
    for path in files:
        text = path.read_text(errors="surrogateescape")
        assert redact(text) == text, path


def test_a_secret_after_a_long_letter_keeps_its_place() -> None:
    """Lower-casing may lengthen a text; places do not shift."""
    assert redact(f"İİİİ password={N24} İ") == "İİİİ password=[redacted:secret] İ"


def test_two_names_of_one_secret_hide_it_once() -> None:
    """Overlapping finds become one marker."""
    assert redact(f"client_secret_token={N24}") == "client_secret_token=[redacted:secret]"
    assert redact(f"password={'ghp_' + N36}") == "password=[redacted:github-token]"


def test_a_secret_that_reaches_over_the_end_of_another_is_hidden_with_it() -> None:
    """No tail of it is left standing."""
    text = f"xoxb-{N24}-SG.{noise(22, URL_SAFE)}.{noise(43, URL_SAFE)} end"
    assert redact(text) == "[redacted:slack-token] end"


def test_many_secrets_in_one_text_are_all_hidden() -> None:
    """Line by line, with everything between them kept."""
    text = "\n".join(f"{number}: ghp_{noise(36, seed=number)} ok" for number in range(200))
    assert redact(text) == "\n".join(f"{n}: [redacted:github-token] ok" for n in range(200))


# --- known values ---------------------------------------------------------------------------------


def test_known_values_are_hidden_wherever_they_stand() -> None:
    """Also URL-quoted and as JSON writes them; the longest value wins over its beginning."""
    hide = Redactor(["hunter2-long", "hunter2-longer", 'sla/sh "quoted"'])
    assert hide("a hunter2-longer b hunter2-long c") == "a [redacted:value] b [redacted:value] c"
    assert hide("u=sla%2Fsh%20%22quoted%22") == "u=[redacted:value]"
    assert hide('{"x":"sla/sh \\"quoted\\""}') == '{"x":"[redacted:value]"}'
    assert hide('sla/sh "quoted"') == "[redacted:value]"


def test_the_detectors_work_beside_known_values() -> None:
    """Both in one text."""
    assert Redactor(["hunter2-long"])(f"hunter2-long ghp_{N36}") == (
        "[redacted:value] [redacted:github-token]"
    )


def test_short_and_empty_values_are_left_alone() -> None:
    """Hiding `1` or `true` would tear up every text."""
    assert Redactor(["", "1", "true", "  short  "])("1 is true, short") == "1 is true, short"


@pytest.mark.parametrize("value", ["postgres", "password", "Password", "username"])
def test_a_value_that_is_known_to_all_is_left_alone(value: str) -> None:
    """`PGPASSWORD=postgres` would hide names of files and variables, from the record and from models that have to edit them."""
    text = f"src/{value.lower()}.py: def check({value}): ..."
    assert Redactor([value])(text) == text
    assert Redactor([f"{value}-4711"])(f"{value}-4711") == "[redacted:value]"


@pytest.mark.parametrize("value", ["redacted", "[redacted:value]", "value] [r", "redacted:value"])
def test_a_value_made_of_the_marker_itself_comes_to_an_end(value: str) -> None:
    """A marker is never looked into, so hiding stops."""
    once = Redactor([value])(f"x {value} y {value}{value}")
    assert Redactor([value])(once) == once


# --- time -----------------------------------------------------------------------------------------

LETTERS = 120_000
LONG = [
    "a" * 64,
    "password=",
    "password:",
    "token = 'x' ",
    'token = "a{b<c[',
    "password: >\n",
    "token = (\n 1 | '",
    'password:\n"a1b2c3d4e5',
    'token = "\\u0026',
    "api_key: str = ",
    "eyJ",
    "-eyJabcdefgh",
    "-eyJabcdefgh.",
    "sk-",
    "ghp_aaaaaaaa",
    "://a:b",
    "://" + "a" * 90 + ":",
    "-----BEGIN PRIVATE" + " KEY-----",
    "-----BEGIN PRIVATE" + " KEY-----aaaaaaaaaaaaaaaaaaaaaaaa-",
    "-----BEGIN PRIVATE" + " KEY-----\n 2 | ",
    "-----END PRIVATE" + " KEY-----",
    "\n" * 50 + "-----END PRIVATE" + " KEY-----",
    "a" * 64 + "\n",
    "authorization: bearer ",
    "basic aaaaaaaaaaaaaaaa",
    "--a-b-password ",
    "\\" * 8 + '"',
    "İ",
    "curl -u ",
    "mysql ",
    "mysql -p",
    "password value",
    "password \n value: ",
    "machine a login b ",
    "default\n",
    "cookie: a=b; ",
    "auth=aaaaaaaa",
    "password>aaaaaaaa ",
    "://" + "a" * 30,
    "LS0tLS1CRUdJT" + "A" * 40,
    "M" * 24 + ".abcdef.",
    "12345678:A",
    "discord.com/api/webhooks/1",
    "dp.st.",
    "secret_",
    '"pass":"',
    f"password={N24} ",
    "x = foo(bar, 'baz')  # some ordinary code\n",
]


def cost_s(text: str) -> float:
    """The processor's time for one text, in seconds."""
    start = time.process_time()
    redact(text)
    return time.process_time() - start


def grows_below(times: float, shorter: str, longer: str) -> bool:
    """Whether the longer text costs less than so many times the shorter one; a busy machine has three attempts."""
    return any(cost_s(longer) < times * cost_s(shorter) for _ in range(3))


@pytest.mark.parametrize("piece", LONG, ids=range(len(LONG)))
def test_time_is_linear(piece: str) -> None:
    """So many letters of the worst that a detector can be given costs 16 times a sixteenth of it, not 256 times."""
    times = LETTERS // len(piece)
    assert grows_below(64, piece * (times // 16), piece * times)


def test_time_is_linear_before_the_end_of_a_key() -> None:
    """What may stand before it is looked at once."""
    end = "-----END PRIVATE" + " KEY-----"
    for piece in ("a" * 64 + "\n", "\n", "\\n", " \\" * 3):
        times = LETTERS // len(piece)
        assert grows_below(64, piece * (times // 16) + end, piece * times + end)


def test_time_is_linear_in_a_text_of_everything() -> None:
    """All of that together, and ten times: ten times the time, not a hundred times."""
    text = "\n".join(piece * (LETTERS // len(LONG) // len(piece)) for piece in LONG)
    assert len(text) > 0.9 * LETTERS
    assert grows_below(30, text, text * 10)
