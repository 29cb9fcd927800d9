"""`python -m akotf.agent`."""

import sys

from akotf.agent.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
