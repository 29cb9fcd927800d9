"""YAML with places: strict documents, scalars as fields want them, trees bound to models. Every file of ours is read by it."""
