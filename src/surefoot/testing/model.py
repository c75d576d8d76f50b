"""The shipped fake of the `Model` port; it is also what `--model scripted:FILE` runs on, so it lives with the models."""

from surefoot.models.scripted import Rule, ScriptedModel, load_scripted

__all__ = ["Rule", "ScriptedModel", "load_scripted"]
