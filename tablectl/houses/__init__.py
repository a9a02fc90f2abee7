"""The houses: sets of rules, one TOML file each, and the model that gives every rule its name."""
