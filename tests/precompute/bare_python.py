"""A Python that has what ellzero needs, but not ellzero: what a cluster's image is."""

import sys
import sysconfig
import venv
from pathlib import Path


class BarePython:
    """A new virtual environment in ``folder`` that borrows the packages installed here.

    A folder named in a .pth file has its modules seen, but not its own .pth files: an editable ellzero stays out.
    """

    def __init__(self, folder: Path) -> None:
        venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
        self.executable = folder / "bin" / "python"
        self.packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        borrowed = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
        (self.packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed))
