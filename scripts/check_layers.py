#!/usr/bin/env python3
"""Who may include whom: every #include "argosy/<folder>/..." against argosy/LAYERS (ctest "layers").

Tests may also include testing/. Every folder must have its line, and a line without a folder is stale. A folder inside a
folder ("tf/session") may have a line of its own: then it is a layer of its own.
`--self-test` breaks the rules on purpose, in a scratch copy, and fails if that goes unnoticed.
"""
import argparse
import pathlib
import re
import sys
import tempfile

SOURCES = {".h", ".cc", ".cu", ".cuh", ".inc"}
INCLUDE = re.compile(r'\s*#\s*include\s+"argosy/([a-z_]+/[^"]*)"')


def read_layers(path):
    allowed = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, below = line.partition(":")
            allowed[name.strip()] = {name.strip(), *below.split()}
    return allowed


def cycle(allowed):
    """A chain of layers that comes back to itself, or nothing."""
    done = set()

    def visit(name, path):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return []
        for below in sorted(allowed.get(name, set()) - {name}):
            found = visit(below, path + [name])
            if found:
                return found
        done.add(name)
        return []

    for name in sorted(allowed):
        found = visit(name, [])
        if found:
            return found
    return []


def layer_of(parts, allowed):
    """The layer of a path below argosy/: that of the innermost folder with a line."""
    inner = "/".join(parts[:2])
    return inner if inner in allowed else parts[0]


def check(root):
    allowed = read_layers(root / "argosy/LAYERS")
    bad, seen = [], 0
    for name in sorted(set().union(*allowed.values()) - set(allowed)):
        bad.append(f"argosy/LAYERS: {name} is used but has no line of its own")
    if found := cycle(allowed):
        bad.append(f"argosy/LAYERS: layers form a circle: {' -> '.join(found)}")
    folders = {f.name for f in (root / "argosy").iterdir() if f.is_dir() and any(f.rglob("*.*"))}
    for name in sorted(folders - set(allowed)):
        bad.append(f"argosy/{name}/: not in argosy/LAYERS; add the line '{name}: <folders it may include>'")
    for f in sorted((root / "argosy").rglob("*")):
        parts = f.relative_to(root / "argosy").parts
        layer = layer_of(parts, allowed)
        if f.suffix not in SOURCES or len(parts) < 2 or layer not in allowed:
            continue
        extra = {"testing"} if f.stem.endswith("_test") else set()
        for number, line in enumerate(f.read_text().splitlines(), 1):
            if m := INCLUDE.match(line):
                seen += 1
                included = layer_of(m[1].split("/"), allowed)
                if included not in allowed[layer] | extra:
                    bad.append(f"{f.relative_to(root)}:{number}: {layer} may not include {included} (argosy/LAYERS)")
            elif re.match(r'\s*#\s*include\s+"(\.\./|tools/)', line):
                bad.append(f"{f.relative_to(root)}:{number}: include by the path from the root, and never tools/")
    return bad, seen


def self_test():
    faults = {
        "upward include": {"argosy/base/a.h": '#include "argosy/op/op.h"\n'},
        "unlisted folder": {"argosy/misc/a.h": "\n"},
        "circle": {"argosy/LAYERS": "base: op\nop: base\n"},
        "relative include": {"argosy/op/a.cc": '#include "../base/b.h"\n'},
        "upward include of a folder inside a folder": {"argosy/op/a.cc": '#include "argosy/op/inner/c.h"\n'},
        "tests see testing, but only tests": {"argosy/op/a.cc": '#include "argosy/testing/case.h"\n'},
    }
    good = {"argosy/LAYERS": "base:\nop: base\nop/inner: base op\ntesting: base op\n", "argosy/base/b.h": "\n",
            "argosy/op/inner/c.h": '#include "argosy/op/d.h"\n',
            "argosy/op/b_test.cc": '#include "argosy/testing/case.h"\n#include "argosy/base/b.h"\n',
            "argosy/testing/case.h": '#include "argosy/op/op.h"\n'}
    for name, fault in {"nothing": {}, **faults}.items():
        with tempfile.TemporaryDirectory() as scratch:
            for path, text in {**good, **fault}.items():
                f = pathlib.Path(scratch, path)
                f.parent.mkdir(parents=True, exist_ok=True)
                f.write_text(text)
            bad, _ = check(pathlib.Path(scratch))
            if bool(bad) != bool(fault):
                print(f"layers self-test: planted '{name}', found {bad or 'nothing'}")
                return 1
    print(f"layers self-test: {len(faults)} planted faults found")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--self-test", action="store_true")
    if parser.parse_args().self_test:
        return self_test()
    bad, seen = check(pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(bad) or f"layers: {seen} includes, all allowed")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
