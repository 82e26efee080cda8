"""A command that does not exist is answered with the one that was probably meant."""

import pytest
from command_line import Ellzero, check_mistake


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("raduis", "no command 'raduis'. Did you mean radius?"),
        ("threshold", "no command 'threshold'. Did you mean thresholds?"),
        ("table", "no command 'table'. Did you mean tables?"),
        ("nonsense", "no command 'nonsense'. There are advise, certify, conformal, jobs, judge, plan, plot,"),
        ("tables expot", "no command 'expot'. Did you mean export?"),
        ("tables lok", "no command 'lok'. There are compact, export, import, info, show, sign, verify."),
        ("tables lookup", "no command 'lookup'. Use `ellzero radius --table TABLE --p P --k K --alpha α --d D`."),
        ("jobs lst", "no command 'lst'. Did you mean list?"),
        ("plot thresh", "no command 'thresh'. Did you mean thresholds?"),
        ("radius --limtis 3", "No such option '--limtis'. Did you mean '--limits'?"),
        ("precompute --gird grid.toml", "No such option '--gird'. (Did you mean one of: '--d', '--grid', '--r'?)"),
    ],
)
def test_a_misspelt_command_or_option_is_answered_with_the_nearest(ellzero: Ellzero, line: str, message: str) -> None:
    check_mistake(ellzero(line), message)
