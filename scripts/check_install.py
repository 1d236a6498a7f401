#!/usr/bin/env python3
"""Installs a build into a scratch prefix and uses it as a stranger would (ctest "install"): find_package(argosy), build
and run examples/consumer, run the installed program, and look at what libargosy.so exports."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Ours, and what C++ makes for our types. Functions of templates carry their result type in front.
OURS = re.compile(r"^(argosy::|(typeinfo|typeinfo name|vtable|VTT) for argosy::)")


def run(*command, **options):
    print("+", " ".join(str(c) for c in command), flush=True)
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, **options)
    if done.returncode:
        sys.exit(f"{done.stdout}\nexit {done.returncode}")
    return done.stdout


def foreign_exports(library):
    names = run("nm", "-D", "-C", "--defined-only", str(library)).splitlines()
    exported = [line.split(maxsplit=2)[2] for line in names if len(line.split(maxsplit=2)) == 3]
    return exported, [name for name in exported if not OURS.match(name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="a finished build folder")
    parser.add_argument("--compiler", default="c++")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        prefix, build = pathlib.Path(scratch, "prefix"), pathlib.Path(scratch, "build")
        run("cmake", "--install", args.build, "--prefix", str(prefix))

        library = next(prefix.rglob("libargosy.so"), None)
        if library is None:
            sys.exit("libargosy.so was not installed")
        exported, foreign = foreign_exports(library)
        if not exported or foreign:
            sys.exit(f"libargosy.so exports {len(exported)} symbols, not ours: {foreign[:20]} (cmake/argosy.map)")
        private = [str(h) for h in prefix.rglob("*") if h.suffix in {".inc", ".a", ".cc"}]
        if private:
            sys.exit(f"installed, but not for users: {private}")

        run("cmake", "-S", str(ROOT / "examples/consumer"), "-B", str(build), "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={args.compiler}",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        run("cmake", "--build", str(build))
        print(run(str(build / "consumer")), end="")
        print(run(str(prefix / "bin/argosy"), "--version"), end="")
        print(f"install: {len(exported)} symbols exported, all ours; "
              f"{len(list(prefix.rglob('*.h')))} public headers; the consumer ran")


if __name__ == "__main__":
    main()
