#!/usr/bin/env python3
"""Decisions by the name of an op, counted in passes and strategies: the count may only fall (ctest "op_names").

    scripts/check_op_names.py [--list] [--self-test]

A fact of an op is a field of OpDef (argosy/op/definition/op_def.h), never a list of names in the code that asks. So this
counts, in the .h and .cc files of a folder that are no tests and no helpers of tests (testing/), every string that is an op's name ("MatMul",
"_FusedMatMul") or a part of names ("FusedBatchNorm"): in a comparison, a list, a table, or given to a function that
compares (starts_with, is_one_of, absorbable_input). Names of nodes that the code adds do not count: after `.op =`, and
in the calls of CREATES. Nor do comments and the attributes of ATTRIBUTES.

MOST holds the count of each folder. Where the count has fallen, write the new one there.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = {
    "argosy/passes": 0,
    "argosy/sharding": 0,
    "argosy/strategy": 6,
}
# Functions that make nodes, or look an op up to make one.
CREATES = {"add", "add_node", "replace_with", "find", "lookup", "make", "node", "add_to", "unary", "binary", "constant"}
ATTRIBUTES = {"DstT", "Tin", "Tout", "Tcond", "Tshape", "Tidx", "Truncate", "Tindices", "Index"}

LITERAL = re.compile(r'"(_?[A-Z][A-Za-z0-9]*)"')
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|[(){}]', re.S)
CALLED = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\s*(?:<[^<>()]*>)?\s*$")


def names_in(text):
    """(line, name) of each decision by an op's name."""
    found, open_brackets = [], []
    for m in TOKEN.finditer(text):
        token = m[0]
        if token in "({":
            open_brackets.append((token, m.start()))
        elif token in ")}":
            if open_brackets:
                open_brackets.pop()
        elif literal := LITERAL.fullmatch(token):
            name = literal[1]
            if not re.search(r"[a-z]", name) or name in ATTRIBUTES or re.search(r"\.op\s*=\s*$", text[: m.start()]):
                continue
            # A choice between two names, `a ? "X" : "Y"`, belongs to the call around it.
            inner = open_brackets[-1] if open_brackets else None
            called = CALLED.search(text[: inner[1]]) if inner and inner[0] == "(" else None
            if called and called[1] in CREATES and not re.search(r"[=!]=\s*$", text[: m.start()]):
                continue
            found.append((text.count("\n", 0, m.start()) + 1, name))
    return found


def count(root, folder, show):
    total = 0
    for f in sorted((root / folder).rglob("*")):
        if f.suffix not in {".h", ".cc"} or f.stem.endswith("_test") or f.parent.name == "testing":
            continue
        for line, name in names_in(f.read_text()):
            total += 1
            if show:
                print(f"{f.relative_to(root)}:{line}: {name}")
    return total


def self_test():
    cases = {
        'if (n.op->name == "MatMul") return;': 1,
        'n.op->name.starts_with("FusedBatchNorm")': 1,
        'constexpr const char* kOps[] = {"Sum", "Mean"};': 2,
        'is_one_of(n, {"Add", "AddV2"})': 2,
        'users.absorbable_input(id, 0, "Sub")': 1,
        'n.op->name == "Const" ? add("Const") : id': 1,
        'graph.add("Neg", {x}, {{"T", type}, {"Tin", types}});': 0,
        'NodeSpec spec{.name = name, .op = "Const"};': 0,
        'graph.replace_with(id, more ? "_ApplyMany" : "_ResourceApplyMany", inputs);': 0,
        '// not "MatMul"\nerror("Matrix sizes differ");': 0,
        'find(names, n.op->name == "Sum")': 1,
    }
    bad = [f"{text!r}: {len(names_in(text))} found, {wanted} wanted"
           for text, wanted in cases.items() if len(names_in(text)) != wanted]
    print("\n".join(bad) or f"op_names: {len(cases)} cases hold")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print every name that counts")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    bad = False
    for folder, most in MOST.items():
        found = count(options.root, folder, options.list)
        print(f"{folder}: {found} decisions by an op's name, at most {most}")
        if found > most:
            print(f"  what {folder} asks of an op belongs into OpDef (argosy/op/definition/op_def.h); --list shows all")
        elif found < most:
            print(f"  it has fallen: write {found} into MOST of scripts/check_op_names.py")
        bad = bad or found > most
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
