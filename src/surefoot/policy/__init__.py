"""Modes, lock, risk flags and redaction: what may happen, by rule."""

from surefoot.policy.decide import decide_next_action, record_and_verify, resolve_policy
from surefoot.policy.lock import Lock
from surefoot.policy.rules import RulePolicy

__all__ = ["Lock", "RulePolicy", "decide_next_action", "record_and_verify", "resolve_policy"]
