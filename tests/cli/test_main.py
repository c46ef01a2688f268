from types import SimpleNamespace

import pytest

from cacheroute.cli.main import COMMANDS, build, complain


class UsageError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.ctx = SimpleNamespace(command_path="cacheroute engine")

    def format_message(self) -> str:
        return str(self)


def ended(error: Exception, capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    with pytest.raises(SystemExit) as end:
        complain(error)
    return end.value.code, capsys.readouterr().err


def test_usage_errors_are_one_line_with_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = ended(UsageError("No such option: --what."), capsys)
    assert (code, text) == (2, "cacheroute: No such option: --what. See `cacheroute engine --help`.\n")


def test_a_defect_is_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = ended(RuntimeError("two\nlines"), capsys)
    assert code == 1
    assert text.count("\n") == 1
    assert "RuntimeError: two lines" in text


def test_every_command_can_be_mounted() -> None:
    names = {command.name for command in build().registered_commands}
    assert names >= set(COMMANDS)
