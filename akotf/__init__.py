"""akotf: infrastructure as code for AI training.

Importing this package costs nothing: every part is imported where it is used.
"""

__version__ = "0.1.0"
