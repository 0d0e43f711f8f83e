"""What the agent did: rules over one trajectory."""
