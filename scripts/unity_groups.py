#!/usr/bin/env python3
"""Which small files are compiled as one (cmake/ArgosyUnity.cmake, option ARGOSY_UNITY).

Reading the same headers and instantiating the same templates of the standard library is more than half of the time of a
small file, so a build from nothing compiles several as one. What a file keeps to itself (names in anonymous namespaces,
`static` ones, macros, aliases) would then be seen by the files after it. So a file comes after another only if no such
name of that one occurs in it or in the headers it brings along, as whatever (but for members, after a dot): then it means
what it means alone. Files that do something to those after them, or that read themselves again, stay alone.

Reads lines "target<TAB>most files<TAB>file;file..." and writes CMake code that sets UNITY_GROUP of the files.
`--self-test` tries the rules on small files.
"""
import argparse
import pathlib
import re
import sys

BYTES = 48 * 1024  # of sources in one: the last one to be compiled should not be waited for

COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Za-z_])\'(?:[^\'\\\n]|\\.)+\'', re.S)
WORD = re.compile(r"(?<![\w.])(?<!->)(?<!std::)[A-Za-z_]\w*")
# What changes the meaning of what follows in a file, or what a file does with itself.
ALONE = re.compile(r"^\s*#\s*pragma\b|hwy/|__FILE__|__INCLUDE_LEVEL__|^using\s+namespace\b|\binline\s+namespace\b", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"(argosy/[^"]+)"', re.M)
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
UNDEF = re.compile(r"^\s*#\s*undef\s+(\w+)", re.M)
USING = re.compile(r"^using\s+((?:typename\s+)?[\w:]+);", re.M)
ALIAS = re.compile(r"^(?:using|namespace)\s+(\w+)\s*=\s*([^;]*);", re.M)
TYPE = re.compile(r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(?:\[\[[^]]*\]\]\s*|ARGOSY_\w+(?:\([^()]*\))?\s*)*(\w+)")
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>;{}]*>")
ANONYMOUS = re.compile(r"\bnamespace\s*\{")
CLASS = re.compile(r"^(?:struct|class)\s+\w[^;{}()=]*\{", re.M)
TEST = re.compile(r"^(?:TYPED_|INSTANTIATE_)?TEST\w*\s*\(\s*(\w+)\s*,\s*(\w+)", re.M)


def without_texts(text):
    return COMMENT_OR_TEXT.sub(lambda m: "" if m.group().startswith("/") else '""', text)


def outermost(text):
    """`text` without what stands in braces, brackets or parentheses."""
    kept, depth, start = [], 0, 0
    for bracket in re.finditer(r"[(){}\[\]]", text):
        opens = bracket.group() in "({["
        if opens and depth == 0:
            kept.append(text[start:bracket.end()])
        elif not opens and depth == 1:
            start = bracket.start()
        depth += 1 if opens else -1
    return "".join(kept) + text[start:]


def bodies(text, start_of_one):
    """What stands in the braces that a match of `start_of_one` opens."""
    for start in start_of_one.finditer(text):
        depth = 1
        for brace in re.compile(r"[{}]").finditer(text, start.end()):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                yield text[start.end():brace.start()]
                break


def declared(text):
    """Names declared in a body, generously: whatever stands where the name of a declaration may stand."""
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    names = set(TYPE.findall(text))
    names |= {f"{suite}_{test}_Test" for suite, test in TEST.findall(text)}
    for enumerators in re.findall(r"\benum\b(?!\s+(?:class|struct)\b)[^{;]*\{([^}]*)\}", text):
        names |= {WORD.search(one).group() for one in enumerators.split(",") if WORD.search(one)}
    text = outermost(TEST.sub("(", text))
    while TEMPLATE_ARGUMENTS.search(text):
        text = TEMPLATE_ARGUMENTS.sub(" ", text)
    for statement in re.split(r"[;}]", text):
        if re.match(r"\s*(?:template\s+)?(?:struct|class|union|enum)\b", statement):
            continue
        for declarator in statement.split(","):
            head = re.split(r"(?<![=!<>])=(?!=)", declarator)[0]
            names |= {name for name in re.findall(r"(?<![\w:])(\w+)\s*(?=[(\[{]|$)", head) if WORD.match(name)}
    return names - {"const", "noexcept", "alignas", "requires", "decltype", "operator", "override", "extern", "static"}


class Headers:
    """The words of headers of ours and of those that they include; each is read once."""

    def __init__(self, root):
        self.root, self.known = root, {}

    def words(self, text):
        found, waiting = set(), INCLUDE.findall(text)
        seen = set()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                if name not in self.known:
                    path = self.root / name
                    header = path.read_text() if path.is_file() else ""
                    self.known[name] = set(WORD.findall(without_texts(header))), INCLUDE.findall(header)
                found |= self.known[name][0]
                waiting += self.known[name][1]
        return found


class Source:
    """A file as the others see it: `own` names, other `words`, those of its headers, and aliases with their meaning."""

    def __init__(self, text, headers=None):
        self.brought = headers.words(text) if headers else set()
        plain = without_texts(text)
        self.size = len(text)
        anonymous = list(bodies(plain, ANONYMOUS))
        defined, forgotten = set(DEFINE.findall(plain)), set(UNDEF.findall(plain))
        first_define, last_include = DEFINE.search(plain), plain.rfind("#include")
        self.alone = (bool(ALONE.search(text)) or any("operator" in outermost(body) for body in anonymous)
                      or bool(first_define and first_define.start() < last_include and defined - forgotten))
        self.words = set(WORD.findall(plain))
        self.aliases = {name: re.sub(r"\s+", " ", meaning) for name, meaning in ALIAS.findall(plain)}
        self.aliases |= {name.split("::")[-1]: name for name in USING.findall(plain)}
        self.own = defined | set().union(*(declared(body) for body in anonymous))
        self.own |= {name for line in re.findall(r"^static\s[^;{=(]*?(\w+)\s*[({=;\[]", plain, re.M) for name in [line]}
        self.own -= set(self.aliases)
        self.own |= {"main"} & self.words
        # A class with linkage and members without: g++ warns of it where the file is not the main one.
        public = plain
        for body in anonymous:
            public = public.replace(body, "", 1)
        self.alone |= any(self.own & set(WORD.findall(body)) for body in bodies(public, CLASS))

    def fits_after(self, other):
        if self.alone or other.alone or other.own & (self.words | self.own):
            return False
        if other.own & self.brought - other.brought or self.own & other.brought - self.brought:
            return False
        return all(meaning == self.aliases.get(name) for name, meaning in other.aliases.items() if name in self.words)


def batches(sources, most):
    """Lists of names from {name: Source}, in order; each file goes to the first list where it fits."""
    made = []
    for name, source in sources.items():
        for batch in made:
            if (len(batch) < most and sum(sources[other].size for other in batch) + source.size <= BYTES
                    and all(source.fits_after(sources[other]) for other in batch)):
                batch.append(name)
                break
        else:
            made.append([name])
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("targets", type=pathlib.Path, nargs="?")
    parser.add_argument("result", type=pathlib.Path, nargs="?")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        sys.exit(self_test())
    lines, headers = [], Headers(pathlib.Path(__file__).parent.parent)
    for line in arguments.targets.read_text().splitlines():
        target, most, files = line.split("\t")
        sources = {}
        for name in files.split(";"):
            path = pathlib.Path(name)
            if path.suffix == ".cc" and path.is_file():
                sources[str(path)] = Source(path.read_text(), headers)
        for batch in batches(sources, int(most)):
            if len(batch) > 1:
                group = pathlib.Path(batch[0]).parent.name + "_" + pathlib.Path(batch[0]).stem
                lines.append(f'set_source_files_properties({" ".join(batch)} TARGET_DIRECTORY {target} '
                             f"PROPERTIES UNITY_GROUP {group})\n")
    arguments.result.write_text("".join(lines))


SELF_TEST = [  # whether it fits: one file, another after it
    (True, "namespace { int f() { return g(1); } }", "namespace { int h() { int x = 2; return x; } }"),
    (False, "namespace { int f() { return 1; } }", "namespace { int f() { return 2; } }"),
    (False, "namespace { int f(int) { return 1; } }", "int g() { return f(2.0); }"),
    (True, "namespace { int f(int) { return 1; } }", '// f is another file\'s\nconst char* g() { return "f"; }'),
    (True, "namespace { int f(int inner) { int local = inner; return local; } }", "int inner, local;"),
    (False, "namespace { constexpr int kMost = 3, kLeast = 2; }", "int g() { return kLeast; }"),
    (False, "namespace { struct Row { int a; }; }", "struct Row;"),
    (False, "namespace { template <typename T> class Row : public Base<T> {}; }", "using Rows = Row<int>;"),
    (False, "namespace { enum class Kind : char { kA }; }", "void f(Kind);"),
    (False, "namespace { enum { kA, kB }; }", "int f() { return kA; }"),
    (False, "namespace { std::vector<int> list{1}; }", "int f() { return list; }"),
    (True, "namespace { const std::map<int, std::vector<X>> map() { return {}; } }", "int g(X) { return 0; }"),
    (False, "namespace a {\nnamespace {\nnamespace b {\nint f();\n}\n}\n}", "int g() { return b::f(); }"),
    (True, "namespace { int size() { return 1; } }", "int g(X& x) { return x.size() + x->size() + std::size(x); }"),
    (False, "namespace { int size() { return 1; } }", "int g() { return X::size(); }"),
    (False, "static int f(int x) { return x; }", "int g() { return f(2); }"),
    (False, "#define LIST 1\n", "int LIST;"),
    (False, "#define LIST 1\n#include <list>\n", "int x;"),
    (True, "#define LIST 1\n#include <list>\n#undef LIST\n", "int x;"),
    (False, "using namespace std;\n", "int x;"),
    (True, "void f() {\n  using namespace std;\n}", "int x;"),
    (False, "#pragma GCC optimize\n", "int x;"),
    (False, "#include <hwy/highway.h>\n", "int x;"),
    (True, "namespace {\nusing Rows = std::vector<int>;\n}", "namespace {\nusing Rows = std::vector<int>;\n}"),
    (False, "namespace {\nusing Rows = std::vector<int>;\n}", "namespace {\nusing Rows = std::set<int>;\n}"),
    (True, "using testing::Each;\n", "using testing::Each;\n"),
    (False, "using testing::Each;\n", "int f(Each);"),
    (False, "namespace {\nTEST(A, B) {}\n}", "namespace {\nTEST(A, B) {}\n}", ),
    (True, "namespace {\nTEST(A, B) {}\n}", "namespace {\nTEST(A, C) {}\n}"),
    (False, "namespace {\nbool operator==(const X&, const X&) { return true; }\n}", "int x;"),
    (False, "namespace { struct Row {}; }\nstruct X::State {\n  Row row;\n};", "int x;"),
    (True, "namespace {\nstruct Row {};\nstruct State {\n  Row row;\n};\n}", "int x;"),
    (False, "int main() {}", "int main() {}"),
]


def self_test():
    wrong = [(one, other) for fits, one, other in SELF_TEST if Source(other).fits_after(Source(one)) != fits]
    for one, other in wrong:
        print(f"wrong:\n  {one}\n  {other}")
    small = {name: Source(f"namespace {{ int {name}; }}") for name in "abcde"}
    if batches(small, 2) != [["a", "b"], ["c", "d"], ["e"]]:
        print("wrong:", batches(small, 2))
        wrong.append(small)
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
