"""Finding, probing and safely reading source files."""
