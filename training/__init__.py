"""Makes the weights of the card reader again: `python -m training`. See README.md beside this file."""
