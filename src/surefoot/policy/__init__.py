"""Modes, lock, risk flags and redaction: what may happen, by rule.

The `Policy` port is in `rules`: whoever only looks at a repository needs none.
"""

from surefoot.policy.decide import (
    decide_next_action,
    read_mode,
    record_and_verify,
    resolve_policy,
)
from surefoot.policy.lock import Lock

__all__ = ["Lock", "decide_next_action", "read_mode", "record_and_verify", "resolve_policy"]
