"""Run the tests against real vLLM: `python -m e2e.real_vllm [pytest options]` from the top of the checkout."""

import sys
from pathlib import Path

import pytest

from e2e.harness.errors import CannotRunError, HarnessError
from e2e.harness.progress import say
from e2e.real_vllm import environment


def main(arguments: list[str]) -> int:
    """Prepare the environment, then run the tests; returns the exit code."""
    try:
        environment.vllm()
    except KeyboardInterrupt:
        say("interrupted; `make e2e-vllm` begins the installation again, with what uv has downloaded")
        return 130
    except CannotRunError as reason:
        say(f"cannot run: {reason}")
        return 1
    except HarnessError as error:
        say(f"failed: {error}")
        return 1
    return int(pytest.main([str(Path(__file__).parent), *arguments]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
