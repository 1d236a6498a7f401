#!/usr/bin/env python3
"""Classes over 200 lines, counted: the count may only fall (ctest "class_sizes").

    scripts/check_class_sizes.py [--list] [--longer-than LINES] [--self-test]

A class of more than 200 lines holds more than one idea. This counts the lines of each class and struct of argosy/ and
tools/ from its head to its closing brace, and the lines of its methods that are defined elsewhere in its folder
("Status Graph::check() {"): a class that is spread over files is no smaller. A class within a class counts as a class
of its own, too. Tests do not count.

MOST holds the count. Where it has fallen, write the new one there.
"""
import argparse
import collections
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("argosy", "tools")
LONG = 200
MOST = 40

SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\'', re.S)
CLASS = re.compile(r"(?<!enum )\b(?:class|struct)\s+(?:ARGOSY_\w+(?:\([^()]*\))?\s+|alignas\([^()]*\)\s+)*"
                   r"([A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)(?:<[^;{}]*>)?\s*(?:final\s*)?(?::(?!:)[^;{}]*)?\{")
# The head of a definition outside of its class: it starts a line that is not indented, and ends with a brace.
METHOD = re.compile(r"^(?!class\b|struct\b|namespace\b|enum\b)(?:[A-Za-z_][^\n;{}=#]*?\b)?"
                    r"((?:[A-Z]\w*(?:<[^;{}()]*?>)?::)+)[~\w]+(?:\s*[^\w\s]{1,3}(?=\())?\(", re.M)


def blanked(text):
    """The text with comments and literals as spaces: same lines, same places."""
    return SKIPPED.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def end_of(text, at):
    """The place behind the bracket that closes the one at `at`."""
    pairs = {"{": "}", "(": ")"}
    depth = 0
    for m in re.compile(rf"[{text[at]}{pairs[text[at]]}]").finditer(text, at):
        depth += 1 if m[0] == text[at] else -1
        if depth == 0:
            return m.end()
    return len(text)


def lines_between(text, first, end):
    return text.count("\n", first, end) + 1


def classes_of(text):
    """(name, place, end) of each class of a text that blanked() made."""
    for m in CLASS.finditer(text):
        yield m[1], m.start(), end_of(text, m.end() - 1)


def methods_of(text):
    """(class, lines) of each method of a text that is defined outside of its class."""
    for m in METHOD.finditer(text):
        first_line = text[m.start():].partition("\n")[0]
        after = re.compile(r"[^;{]*").match(text, end_of(text, m.end() - 1)).end()
        if after >= len(text) or text[after] == ";":  # a declaration, or "X::X() = default;"
            continue
        if first_line.rstrip().endswith("}"):
            yield m[1], 1
        elif end := re.compile(r"^\}", re.M).search(text, m.end()):
            yield m[1], lines_between(text, m.start(), end.end())


def sizes(root):
    """(lines, name, where) of each class, the longest first."""
    found = {}
    spread = collections.Counter()
    for folder in FOLDERS:
        for f in sorted((root / folder).rglob("*")):
            if f.suffix not in {".h", ".cc", ".cu", ".cuh"} or f.stem.endswith("_test"):
                continue
            text = blanked(f.read_text())
            for name, first, end in classes_of(text):
                # In a .cc file the name is one of that file alone; unless it is Class::Impl of a class of its folder.
                key = (f.parent, f if f.suffix != ".h" else None, name)
                where = f"{f.relative_to(root)}:{text.count(chr(10), 0, first) + 1}"
                found[key] = [lines_between(text, first, end), name, where]
            for owner, lines in methods_of(text):
                owner = re.sub(r"<.*?>", "", owner).removesuffix("::")
                spread[(f, owner)] += lines
    for (f, owner), lines in spread.items():
        last = owner.split("::")[-1]
        for key in ((f.parent, f, owner), (f.parent, None, owner), (f.parent, f, last), (f.parent, None, last)):
            if key in found:
                found[key][0] += lines
                break
    return sorted((tuple(v) for v in found.values()), reverse=True)


def self_test():
    lines = "\n".join(f"  int v{i};" for i in range(3))
    cases = {
        f"class A {{\n{lines}\n}};": {"A": 5},
        f"struct A final : B {{\n{lines}\n}};": {"A": 5},
        "class A;\nenum class B { k };\nfriend class C;": {},
        "class A {\n  struct B {\n    int x;\n  };\n};": {"A": 5, "B": 3},
        "class A {\n};\nStatus A::check() {\n  return ok();\n}": {"A": 5},
        "class A {\n};\nA::A(int x) : x_{x} {\n  y();\n}\nint A::x() { return 1; }": {"A": 6},
        "class A {\n};\nint f() { return A::x(1); }\nStatus A::y();": {"A": 2},
        'class A {\n  // class B {\n  const char* c = "class C {";\n};': {"A": 4},
        "class A::Impl {\n};\nvoid A::Impl::f() {\n}\nvoid A::f() {\n}": {"A::Impl": 4},
    }
    bad = []
    for text, wanted in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "argosy").mkdir()
            (root / "argosy/a.cc").write_text(text)
            found = {name: lines for lines, name, _ in sizes(root)}
        if found != wanted:
            bad.append(f"{text!r}: {found}, not {wanted}")
    print("\n".join(bad) or f"class_sizes: {len(cases)} cases hold")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print every class that counts")
    parser.add_argument("--longer-than", type=int, default=LONG, metavar="LINES", help="what --list prints")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    found = sizes(ROOT)
    if options.list:
        for lines, name, where in found:
            if lines > options.longer_than:
                print(f"{where}: {name} has {lines} lines")
    count = sum(lines > LONG for lines, _, _ in found)
    print(f"class_sizes: {count} classes over {LONG} lines, at most {MOST}")
    if count > MOST:
        print("  a new one is over it: cut it by idea (--list shows all)")
    elif count < MOST:
        print(f"  it has fallen: write {count} into MOST of scripts/check_class_sizes.py")
    return 1 if count > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
