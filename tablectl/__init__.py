"""tablectl: the controller of one physical blackjack table."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("tablectl")
except PackageNotFoundError:  # run from a tree that was never installed
    __version__ = "0.0.0"

__all__ = ["__version__"]
