"""Finding and safely reading files."""
