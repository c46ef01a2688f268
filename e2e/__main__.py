"""Run the end-to-end tests: `python -m e2e [pytest options]` from the top of the checkout."""

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.exit(pytest.main([str(Path(__file__).parent), *sys.argv[1:]]))
