"""Monitor: baseline x readings x Terraform drift -> classified drift -> decision. Pure functions only."""
