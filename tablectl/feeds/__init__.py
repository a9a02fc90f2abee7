"""Feeds: what a table's ledger says, told to systems that know nothing of tables, as it is said.

A feed follows the ledger and keeps how far it was understood in a file of its own, so that an outage of the other side, or of the
feed, loses nothing: the ledger is the only queue. One file for each other side: `syslog`, `onvif`, `bookmarks`.
"""
