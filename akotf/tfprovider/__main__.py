"""`python -E -P -m akotf.tfprovider`: Terraform starts this through the launcher in the root."""

from __future__ import annotations

import sys

from akotf.tfprovider.serve import main

if __name__ == "__main__":
    sys.exit(main())
