"""`python -m penstock` is `penstock`."""

from penstock.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
