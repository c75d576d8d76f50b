"""What language servers know of the code, as one tool."""

from surefoot.toolbox.lsp.languages import Language, own_languages
from surefoot.toolbox.lsp.servers import LanguageServers
from surefoot.toolbox.lsp.session import Patience

__all__ = ["Language", "LanguageServers", "Patience", "own_languages"]
