"""The record for other programs: one file for each format that a ledger's entries are written in.

A new format is one new file with a `write` in it, and one line in `FORMATS`.
"""

from __future__ import annotations

from tablectl.ledger.export import csv, jsonl, onvif, parquet, srt, syslog, webvtt
from tablectl.ledger.export.formats import Format

__all__ = ["FORMATS"]

FORMATS: dict[str, Format] = {
    "jsonl": Format(jsonl.write, "every entry as it is, one JSON object a line"),
    "csv": Format(csv.write, "one row an entry, with the columns of docs/feeds.md"),
    "parquet": Format(parquet.write, "the same columns, typed, for DuckDB and its like", binary=True),
    "webvtt": Format(webvtt.write, "cues for a video: prompts, cards, outcomes, alerts, rulings", video=True),
    "srt": Format(srt.write, "the same cues, for players that know no WebVTT", video=True),
    "syslog": Format(syslog.write, "RFC 5424, one message a line"),
    "onvif": Format(onvif.write, "ONVIF's JSON events with their MQTT topics, one a line"),
}
"""The formats by name."""
