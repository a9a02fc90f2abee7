"""Recordings of serial lines: the native format, importers for other tools' logs, and the player.

A recording is a sequence of chunks (`chunks`). It is read from a file as a `Log` (`logs`), whoever wrote it: `importers.open_log`
finds out which tool that was. `native` writes our own format, `stamps` reads the times of all of them, `player` merges logs
and plays them in time.
"""
