"""All frameworks together."""

from surefoot.preflight.code import Code
from surefoot.preflight.flow import Flow
from surefoot.preflight.routes.asgi import AsgiReader
from surefoot.preflight.routes.django import DjangoReader
from surefoot.preflight.routes.graph import Graph
from surefoot.preflight.routes.wsgi import FlaskReader


def read_routes(code: Code, flow: Flow) -> Graph:
    """Every application and router of a project with what each serves."""
    graph = Graph()
    AsgiReader(code, flow, graph).read()
    FlaskReader(code, flow, graph).read()
    DjangoReader(code, flow, graph).read()
    return graph
