"""What a training script may import: hyperparameters in, heartbeats and complete checkpoints out.

`akotf_runtime.py` beside this file uses the standard library only and imports nothing of akotf, so that it may
also be copied into an image that has no akotf.
"""

from .akotf_runtime import Training, read_manifest

__all__ = ["Training", "read_manifest"]
