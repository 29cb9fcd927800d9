"""`python -m akotf` is `akotf`."""

from akotf.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
