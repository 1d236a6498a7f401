#!/usr/bin/env python3
"""Types that have one name and two definitions in one program (ctest "type_names").

    scripts/check_type_names.py [--self-test]

Two classes argosy::Placement, each in a file of its own, compile. But what templates make of them has one name, such as
std::vector<argosy::Placement>::~vector(). The linker keeps one, for both: wrong in silence. So every class, struct, union
and enum of argosy/ and tools/ that is no member, and in no unnamed namespace, has a name of its own there. Definitions that
are equal word for word may stand twice.
"""
import collections
import pathlib
import re
import sys

from check_class_sizes import blanked, end_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("argosy", "tools")
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"\b(?:struct|class|enum\s+class|enum|union)\s+(?:ARGOSY_\w+(?:\([^()]*\))?\s+|alignas\([^()]*\)\s+)*"
                  r"([A-Za-z_]\w*)\s*(?:final\s*)?(?::(?!:).*)?$", re.S)
# Why a name may have two definitions.
ALLOWED = {
    "argosy::cuda::Finish": "a kernel's argument: the host's side and the GPU's, in modules of their own",
    "argosy::cuda::fn::Name": "a macro's parameter",
}


def types_of(text):
    """(qualified name, text of the definition) of each type at namespace scope."""
    text = blanked(text)
    scopes, start = [], 0  # names of the namespaces around; "" for one without a name
    at = 0
    for m in iter(lambda: re.compile(r"[{};]").search(text, at), None):
        head, at = text[start:m.start()], m.end()
        start = at
        if m[0] == "}":
            if scopes:
                scopes.pop()
            continue
        if m[0] == ";":
            continue
        space = NAMESPACE.search(head)
        if space:
            scopes.append(space[1])
            continue
        end = end_of(text, m.start())
        kind = TYPE.search(head)
        if kind and "" not in scopes:
            yield "::".join(scopes + [kind[1]]), " ".join(text[m.start():end].split())
        at = start = end


def doubled(files):
    """Name and files of each type with definitions that differ. `files`: (name, text)."""
    found = collections.defaultdict(dict)
    for name, text in files:
        for type_name, definition in types_of(text):
            found[type_name].setdefault(definition, name)
    return {name: sorted(set(texts.values())) for name, texts in found.items()
            if len(texts) > 1 and name not in ALLOWED}


def self_test():
    one = "namespace argosy {\nclass A final : public B { int x; struct C { int y; }; };\nenum class E { k };\n}\n"
    other = "namespace argosy {\nnamespace {\nstruct A {};\n}\nstruct C { int z; };\nvoid f() { struct E {}; }\n}\n"
    assert not doubled([("one", one), ("other", other)])
    assert not doubled([("one", one), ("again", "// another comment\n" + one)])
    same = "namespace argosy {\nvoid f() {}\nstruct A { int y; };\n}\n"
    assert doubled([("one", one), ("same", same)]) == {"argosy::A": ["one", "same"]}
    nested = "namespace argosy::cuda {\nstruct A { int y; };\n}\n"
    assert not doubled([("one", one), ("nested", nested)])
    assert doubled([("one", nested), ("two", "namespace argosy {\nnamespace cuda {\nclass A {};\n}\n}\n")])


def main():
    if "--self-test" in sys.argv[1:]:
        self_test()
        return 0
    files = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES)
    found = doubled((str(p.relative_to(ROOT)), p.read_text(errors="replace")) for p in files)
    for name, where in sorted(found.items()):
        print(f"{name}: two definitions, in {' and '.join(where)}")
    print(f"type_names: {len(found)} names with two definitions in {len(files)} files")
    if found:
        print("  give one of them another name, or put it into an unnamed namespace")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
