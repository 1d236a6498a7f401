#!/usr/bin/env python3
"""The C++ API for Doxygen: docs_api.py prints the public headers (what argosy/argosy.h reaches) as a line INPUT = …;
docs_api.py --filter FILE prints a header with its plain comments as Doxygen's."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^#include "(argosy/[^"]+)"', re.M)
OF_STD = re.compile(r"^template <>\n(?:struct|class) std::.*?^};$", re.M | re.S)
RULE = re.compile(r"^\s*// -{3}")


def reached(header):
    """Headers that one includes; the generated list of op families stands for each family's own."""
    if header == "argosy/ops/families.h":
        return [f"argosy/ops/{d.name}/{d.name}.h" for d in sorted((ROOT / "argosy/ops").iterdir())
                if (d / f"{d.name}.h").exists() and (d / f"{d.name}.cc").exists()]
    return INCLUDE.findall((ROOT / header).read_text())


def public_headers():
    found, waiting = [], ["argosy/argosy.h"]
    while waiting:
        header = waiting.pop(0)
        if header not in found:
            found.append(header)
            waiting += reached(header)
    return [header for header in found if (ROOT / header).exists()]


def escaped(comment):
    """Nothing in a comment is a command, a tag or a link."""
    return re.sub(r"([@\\<>#&%$\"])", r"\\\1", comment).replace("::", r"\::")


def for_doxygen(text):
    """Comments before and behind declarations, the first one as the file's own; no specialisations of std."""
    text = OF_STD.sub(lambda m: "\n" * m.group(0).count("\n"), text)
    lines, first = [], True
    for line in text.splitlines():
        alone = re.match(r"^(\s*)//(?!/)(.*)$", line)
        behind = re.match(r"^(.*\S.*?)\s*//(?!/)( .*)$", line)
        if alone and not RULE.match(line):
            lines.append(f"{alone[1]}{'/// @file' + chr(10) if first else ''}///{escaped(alone[2])}")
        elif behind and not alone and '"' not in line:
            lines.append(f"{behind[1]}  ///<{escaped(behind[2])}")
        else:
            lines.append("" if alone else line)
        first = False
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--filter"]:
        sys.stdout.write(for_doxygen(pathlib.Path(sys.argv[2]).read_text()))
    else:
        print("INPUT =", " ".join(public_headers()))
