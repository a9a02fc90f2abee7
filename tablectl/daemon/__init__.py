"""One live table: devices, game, ledger and publishing, wired together."""
