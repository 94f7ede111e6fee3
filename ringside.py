"""``python -m ringside``: the command line of Ringside under the name it is installed by.

Streamlit looks for a distribution's components beside the module of the distribution's own name, so this file is also
what makes ``asset_dir`` in pyproject.toml mean the same folder in a checkout and in an installed wheel.
"""

from drr.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
