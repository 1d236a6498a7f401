"""The program that ./argosyw built. It builds the preset cuda where nvcc is, else the preset release."""
import pathlib

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"


def program():
    """The newest program of both presets; where there is none, the path at which it is missed."""
    paths = [BUILD / preset / "bin/argosy" for preset in ("cuda", "release")]
    return str(max(paths, key=lambda path: path.stat().st_mtime if path.exists() else 0))
