"""Write the golden files anew: `python -m tests.golden`. Then read the diff: it is what users will see change."""

from __future__ import annotations

import sys

from tests.golden.made import FOLDER, made


def main() -> int:
    """Replay each session, and write what it said."""
    for name, content in made().items():
        (FOLDER / name).write_bytes(content)
        print(FOLDER / name, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
