"""tfprovider."""
