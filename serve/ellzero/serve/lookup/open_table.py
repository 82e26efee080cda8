"""The table that the settings name, which must be as signed if they name a manifest."""

from pathlib import Path

from ellzero.core.errors import InvalidInput
from ellzero.serve.settings import ServeSettings, variable_name
from ellzero.tables import Table
from ellzero.tables.bundled import LOCATION


def open_table(settings: ServeSettings) -> Table:
    """The table of a service.

    With a manifest, opening and every later reading of its rows raises `InvalidManifest` or `DamagedShard` unless the
    shards are exactly those that the key has signed.
    """
    uri, manifest, public_key = settings.tables or str(LOCATION), settings.tables_manifest, settings.tables_public_key
    if manifest is None and public_key is None:
        return Table.open(uri)
    if manifest is None or public_key is None:
        missing, other = ("public_key", "manifest") if public_key is None else ("manifest", "public_key")
        allowed = f"set if {variable_name(f'tables_{other}')} is"
        raise InvalidInput(variable_name(f"tables_{missing}"), allowed, None)
    if settings.write_back:
        raise InvalidInput(variable_name("write_back"), "false for a signed table, to which no row can be added", True)
    # Only a signed table needs the extra `sign`.
    from ellzero.core.signing_keys import read_public_key
    from ellzero.tables.signed_manifest import open_signed

    try:
        key = read_public_key(Path(public_key))
    except InvalidInput as error:
        raise InvalidInput(variable_name("tables_public_key"), error.allowed, error.value) from None
    return open_signed(uri, Path(manifest), key)
