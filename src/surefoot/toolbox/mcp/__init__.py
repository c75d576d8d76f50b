"""Tools of the user's own MCP servers."""

from surefoot.toolbox.mcp.servers import McpServer, McpTools, Patience

__all__ = ["McpServer", "McpTools", "Patience"]
