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
BEHIND_CODE = re.compile(r'^((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*?)\s*//(?!/)( .*)$')
SEVERAL = re.compile(r"^(\s*)(\S.*?[\w>*]) ((?:\w+(?: = [^,;]+)?, )+\w+(?: = [^,;]+)?);$")
FAMILIES = re.compile(r"argosy_op_families\(([^)]*)\)")
CLASS = re.compile(r"^(?:class|struct) (?:\w+\([^)]*\)+ )?(\w+)")
MADE = {"= default;": "As the compiler makes it.", "= delete;": "There is none."}
# Reached because members have these types; nobody's program names them.
BEHIND = {"argosy/base/mutex.h", "argosy/base/small_vector.h", "argosy/base/threads/core_use.h",
          "argosy/formats/checkpoint/slice_key.h", "argosy/graph/name_pool.h", "argosy/graph/name_table.h",
          "argosy/graph/node_array.h", "argosy/op/definition/attr_pool.h", "argosy/passes/place/place.h",
          "argosy/passes/simplify/prune.h", "argosy/runtime/device_set/arenas.h", "argosy/runtime/device_set/trace.h",
          "argosy/runtime/step/step.h"}


def reached(header):
    """Headers that one includes; the generated list of op families stands for each family's own."""
    if header == "argosy/ops/families.h":
        listed = FAMILIES.search((ROOT / "argosy/ops/CMakeLists.txt").read_text())[1].split()
        return [f"argosy/ops/{family}/{family}.h" for family in sorted(listed)]
    return INCLUDE.findall((ROOT / header).read_text())


def public_headers():
    found, waiting = [], ["argosy/argosy.h"]
    while waiting:
        header = waiting.pop(0)
        if header not in found:
            found.append(header)
            waiting += reached(header)
    return [header for header in found if header not in BEHIND and (ROOT / header).exists()]


def escaped(comment):
    """Nothing in a comment is a command, a tag or a link; what stands in backticks is code."""
    plain = re.sub(r"([@\\<>#&%$\"])", r"\\\1", comment).replace("::", r"\::")
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", plain)


# The API's first page, behind argosy/argosy.h.
START = """
/** @mainpage
    One header brings all of it: <code>@#include \<argosy/argosy.h\></code>. All names are in the namespace argosy.
    @li Build a graph: argosy::Graph, argosy::Value; ops are functions such as argosy::matmul().
    @li Run it: argosy::Session, argosy::Tensor; errors are values, argosy::Status and argosy::Result.
    @li Train: argosy::Layers, argosy::Optimizer, argosy::Trainer; data come from argosy::data::Dataset and
        argosy::data::Loader.
    @li Replicate a graph over devices: argosy::DataParallel.
    @li Files and servers of TensorFlow: argosy::tf::CheckpointReader, argosy::LoadedGraph, argosy::tf::SessionServer.
    @li Ops of your own: argosy::OpSpec, argosy::Kernel, argosy::GradContext, argosy::ShapeContext.

    <a href="../reference/api.html">Which header holds what</a> · <a href="../guide/cpp.html">C++ in ten minutes</a>
    @namespace argosy         Everything that programs use.
    @namespace argosy::data   Datasets and loaders.
    @namespace argosy::models The built-in models.
    @namespace argosy::tf     Checkpoints and the session server of TensorFlow. */
"""


def named_as(name, header):
    """Whether the class `name` is what the file is named after."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() == pathlib.Path(header).stem


def one_by_one(declaration, comment):
    """`int a, b;` as two declarations on one line: a comment behind them is that of each."""
    several = SEVERAL.match(declaration)
    if several is None or several[2].count("<") != several[2].count(">") or "(" in several[2]:
        return f"{declaration}  ///<{comment}"
    return several[1] + " ".join(f"{several[2]} {name}; /**<{comment} */" for name in several[3].split(", "))


def for_doxygen(text, header):
    """Comments before and behind declarations, the first one as the file's own, and as that of the class that the file is
    named after; no specialisations of std."""
    text = OF_STD.sub(lambda m: "\n" * m.group(0).count("\n"), text)
    lines, head, in_head = [], [], True
    for line in text.splitlines():
        line = re.sub(r"\s*// NOLINT.*$", "", line)
        alone = re.match(r"^(\s*)//(?!/)(.*)$", line)
        behind = BEHIND_CODE.match(line)
        named = CLASS.match(line)
        if line == "#pragma once" and in_head:
            lines.append("/// @file")  # ends the first comment
            in_head = False
            continue
        in_head = in_head and alone is not None
        if in_head:
            head.append(escaped(alone[2]))
        made = next((note for end, note in MADE.items() if line.endswith(end)), None)
        if alone and not RULE.match(line):
            lines.append(f"{alone[1]}///{escaped(alone[2])}")
        elif behind and not alone and not line.startswith("#include"):
            lines.append(one_by_one(behind[1], escaped(behind[2])))
        elif named and "{" in line and named_as(named[1], header) and not lines[-1].startswith("///"):
            lines.append("/** " + " ".join(head) + " */ " + line)
        elif made and not lines[-1].lstrip().startswith("///"):
            lines.append(f"{line}  ///< {made}")
        else:
            lines.append("" if alone else line)
    return "\n".join(lines) + "\n" + (START if header.endswith("argosy/argosy.h") else "")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--filter"]:
        sys.stdout.write(for_doxygen(pathlib.Path(sys.argv[2]).read_text(), sys.argv[2]))
    else:
        print("INPUT =", " ".join(public_headers()))
