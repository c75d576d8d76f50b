"""The routes that a project's web applications serve, read from the syntax tree."""

from surefoot.preflight.routes.graph import ANY, Graph, Route, Unread
from surefoot.preflight.routes.paths import matches
from surefoot.preflight.routes.read import read_routes

__all__ = ["ANY", "Graph", "Route", "Unread", "matches", "read_routes"]
