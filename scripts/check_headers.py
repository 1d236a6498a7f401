#!/usr/bin/env python3
"""Headers stand alone, and public ones show nothing of anybody else's (ctest "headers").

1. x.cc includes its own x.h first, so compiling x.cc proves that x.h needs nothing before it.
2. A header without such a .cc is compiled by itself (Highway's *-inl.h excepted: they are parts of one source).
3. Every header has #pragma once and does not say `using namespace`.
4. What argosy/argosy.h reaches (the public headers) includes only itself and the C++ standard library.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UMBRELLA = "argosy/argosy.h"
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


def includes(path):
    return INCLUDE.findall(path.read_text())


def find(header, build):
    """A header of ours by its name in an #include: a source, or written by the build; nothing if it is neither."""
    return next((top / header for top in (ROOT, build) if (top / header).exists()), None)


def public_headers(build):
    """{header: who includes it first} for all that a user's compiler sees."""
    reached, queue = {UMBRELLA: ""}, [UMBRELLA]
    while queue:
        header = queue.pop()
        for kind, name in includes(find(header, build)):
            if kind == '"' and name not in reached and find(name, build):
                reached[name] = header
                queue.append(name)
    return reached


def check_public(build):
    bad = []
    for header, via in sorted(public_headers(build).items()):
        for kind, name in includes(find(header, build)):
            standard = kind == "<" and re.fullmatch(r"[a-z_0-9]+", name)
            ours = kind == '"' and name.startswith("argosy/") and find(name, build)
            if not standard and not ours:
                bad.append(f"{header}: public (via {via or 'a user'}) but includes {name}; "
                           "move it behind a .cc, or keep this header out of the public ones")
    return bad


def check_alone(header, compiler, flags, scratch):
    """An object file, not -fsyntax-only: ccache remembers those, so that an unchanged header costs nothing."""
    source = pathlib.Path(scratch, header.replace("/", "_") + ".cc")
    source.write_text(f'#include "{header}"\n')
    command = [compiler, "-std=c++20", f"-I{ROOT}", *flags, "-c", str(source), "-o", str(source.with_suffix(".o"))]
    if shutil.which("ccache"):
        command.insert(0, "ccache")
    run = subprocess.run(command, capture_output=True, text=True)
    return [f"{header}: does not compile by itself:\n{run.stderr[:1500]}"] if run.returncode else []


def check_form(header):
    text, bad = (ROOT / header).read_text(), []
    # Highway compiles *-inl.h once per instruction set, inside one source: no guard of the usual kind.
    if "#pragma once" not in text and not header.endswith("-inl.h"):
        bad.append(f"{header}: no #pragma once")
    if re.search(r"^\s*using namespace", text, re.M):
        bad.append(f"{header}: `using namespace` in a header")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev", help="a configured build folder")
    parser.add_argument("--flag", action="append", default=[], help="one more compiler flag")
    args = parser.parse_args()

    headers = [str(f.relative_to(ROOT)) for top in ("argosy", "tools") for f in sorted((ROOT / top).rglob("*.h"))]
    bad, alone = check_public(args.build), []
    for header in headers:
        bad += check_form(header)
        if header.endswith("-inl.h"):
            continue
        source = (ROOT / header).with_suffix(".cc")
        if not source.exists():
            alone.append(header)
        elif includes(source)[:1] != [('"', header)]:
            bad.append(f"{source.relative_to(ROOT)}: its first include must be \"{header}\"")
    scratch = args.build / "headers"
    scratch.mkdir(exist_ok=True)
    flags = [f"-I{args.build}", *args.flag]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda h: check_alone(h, args.compiler, flags, scratch), alone):
            bad += found
    print("\n".join(bad) or f"headers: {len(headers)} stand alone ({len(alone)} compiled by themselves), "
          f"{len(public_headers(args.build))} public ones include the standard library only")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
