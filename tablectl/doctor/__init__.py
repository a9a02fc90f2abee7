"""Whether a table is fit to run: its configuration, and what it finds on the machine."""
