"""The game: a pure fold of observations into notices."""
