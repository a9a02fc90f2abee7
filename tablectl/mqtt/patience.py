"""How long a table waits for its broker."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Patience"]


@dataclass(frozen=True)
class Patience:
    """How long the publisher waits for a broker, in seconds."""

    connect: float = 5.0
    """For the connection, and again for its CONNACK."""
    acknowledge: float = 10.0
    """For a sign that what is under way arrives; then the connection counts as lost."""
    goodbye: float = 2.0
    """For the acknowledgement of the retained `offline` when the table stops."""
    gather: float = 5.0
    """For the first reader to come back after a connection broke on which somebody listened."""
    first_retry: float = 0.2
    """Before the second try; each further one waits twice as long as the last."""
    last_retry: float = 15.0
    """But never longer than this."""
