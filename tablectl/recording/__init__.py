"""Recordings of serial lines: the native format, importers for other tools' logs, and the player."""
