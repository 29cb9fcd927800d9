"""Stage survey: what the scopes offer now, as one dated snapshot."""
