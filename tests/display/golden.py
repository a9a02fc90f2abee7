"""Write the pictures on file anew: `python -m tests.display.golden`; then read the diff."""

from __future__ import annotations

from tests.display.test_view import GOLDEN, PICTURES, page


def main() -> None:
    """Write them."""
    GOLDEN.mkdir(exist_ok=True)
    for name in PICTURES:
        (GOLDEN / f"{name}.json").write_text(page(name), "utf-8")


if __name__ == "__main__":
    main()
