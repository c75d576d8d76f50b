"""The repository's own ledger keeps what people say, and none of their secrets (SPEC F6)."""

import json
from pathlib import Path

from tests.integration.conftest import Surefoot

TOKEN = "ghp_" + "a1B2" * 9
VALUE = "horse battery staple"


def test_the_repositorys_own_ledger_holds_no_secret(surefoot: Surefoot, patient: Path) -> None:
    """Not one that looks like one, and not one of the environment's, whoever gives the reason."""
    why = f"rotate {TOKEN}, which is {VALUE} here"
    env = {"DEPLOY_SECRET": VALUE}
    for said in (
        ("lock", "--why", why),
        ("unlock",),
        ("tools", "policy", "approve", "--reason", why, "--apply"),
    ):
        assert surefoot(*said, cwd=patient, env=env).returncode == 0
    ledger = (patient / ".surefoot" / "events.jsonl").read_text()
    assert TOKEN not in ledger
    assert VALUE not in ledger
    said_of = [json.loads(line)["payload"] for line in ledger.splitlines()]
    told = "rotate [redacted:github-token], which is [redacted:value] here"
    assert [one.get("why", one.get("reason")) for one in said_of] == [told, "", told]
