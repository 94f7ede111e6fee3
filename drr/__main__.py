"""``python -m drr``: see :mod:`drr.cli`."""

from drr.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
