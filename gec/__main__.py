"""``python -m gec`` is the command ``gec``."""

import sys

from gec.cli import main

if __name__ == "__main__":
    sys.exit(main())
