"""The executor strategy `agent`: a plan, and for each of its steps one tool call after the other (SPEC E3)."""

from surefoot.execute.agent.executor import AgentExecutor, AgentLimits, Surroundings

__all__ = ["AgentExecutor", "AgentLimits", "Surroundings"]
