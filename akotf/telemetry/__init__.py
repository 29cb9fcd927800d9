"""Reading nodes: the client of their agents."""
