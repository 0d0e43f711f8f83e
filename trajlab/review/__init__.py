"""Which trajectories people read, and what their verdicts say."""
