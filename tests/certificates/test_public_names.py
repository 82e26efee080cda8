"""The names that users import: a small list, kept on purpose."""

import ellzero.certificates as certificates


def test_every_public_name_exists_and_is_documented() -> None:
    assert certificates.__all__ == sorted(certificates.__all__)
    for name in certificates.__all__:
        assert getattr(certificates, name).__doc__, name


def test_the_package_shows_no_other_public_functions() -> None:
    shown = {
        name
        for name, value in vars(certificates).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "").startswith("ellzero")
        and name not in certificates.__all__
    }
    assert shown == set()
