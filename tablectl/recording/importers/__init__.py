"""One file for each tool whose logs can be read."""
