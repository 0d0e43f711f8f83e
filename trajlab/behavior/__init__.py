"""What agents did: commands, labels, and the behaviour they add up to."""
