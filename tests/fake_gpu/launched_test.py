#!/usr/bin/env python3
"""Is every kernel launched by some test? Compares the kernels of a library of them with the names that the fake driver
wrote down (ARGOSY_FAKE_KERNELS="launched=FILE"), and prints those that never were.

    launched_test.py --library libargosy_kernels_on_host.so --launched FOLDER [--nm nm]
"""

import argparse
import pathlib
import subprocess
import sys

SUFFIX = "_on_host"  # of a kernel's symbol (argosy/device/cuda/fake/on_host.h)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--launched", required=True, type=pathlib.Path)
    parser.add_argument("--nm", default="nm")
    args = parser.parse_args()
    symbols = subprocess.check_output([args.nm, "-D", "--defined-only", args.library], text=True)
    names = [line.split()[-1] for line in symbols.splitlines()]
    kernels = {name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)}
    launched = set()
    for file in args.launched.iterdir():
        launched.update(file.read_text().split())
    never = sorted(kernels - launched)
    print(f"{len(kernels)} kernels, {len(never)} of them never launched")
    for name in never:
        print(f"  {name}")
    return 1 if never or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
