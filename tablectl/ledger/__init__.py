"""The ledger: what was seen and said, kept before it is told."""
