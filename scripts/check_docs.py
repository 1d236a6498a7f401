#!/usr/bin/env python3
"""Pages that stay true (ctest "docs").

* Every relative link leads somewhere. A snippet under <!-- examples/x.cc --> is verbatim in that file.
* docs/reference/errors.md has every error id of the sources, environment.md every environment variable, and no other.
* With --program: the commands and flags of README.md and docs/guide/ exist; docs/reference/command-line.md is the help."""
import argparse
import difflib
import functools
import pathlib
import re
import sys

import docs_reference

ROOT = docs_reference.ROOT
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
SNIPPET = re.compile(r"<!-- (\S+\.\w+) -->\n```\w*\n(.*?)```", re.S)
COMMAND = re.compile(r"(?:\./argosyw|\$ argosy) ([a-z]+)((?: [^#\n]*)?)")
TYPED = re.compile(r"^\$ (?:[A-Z_0-9]+=\S+ )*(?:argosy|\./argosyw) ([a-z]+)((?: .*)?)$", re.M)
INLINE = re.compile(r"`(?:\$ )?argosy ([a-z]+)((?: [^`\n]*)?)`")
END = re.compile(r" -- | \| | # | > | 2> | & ?$")
WRAPPER = {"test", "build"}


def pages():
    folders = ("argosy", "docs", "tools", "examples", "benchmarks", "tests")
    return sorted(list(ROOT.glob("*.md")) + [p for f in folders for p in (ROOT / f).rglob("*.md")])


def without_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.S)


def check_page(page):
    text, bad = page.read_text(), []
    name = page.relative_to(ROOT)
    for target in LINK.findall(without_code(text)):
        if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists():
            bad.append(f"{name}: the link {target} leads nowhere")
    for source, snippet in SNIPPET.findall(text):
        if not (ROOT / source).exists():
            bad.append(f"{name}: the snippet's source {source} does not exist")
        elif snippet.strip("\n") not in (ROOT / source).read_text():
            bad.append(f"{name}: the snippet is not what {source} says")
    return bad


def check_names(page, wanted, what):
    """The first cells of a page's tables against the names in the sources."""
    listed = re.findall(r"^\| `([A-Z][A-Z0-9_-]+)`", (ROOT / page).read_text(), re.M)
    bad = [f"{page}: {what} {name} of the sources is missing" for name in sorted(wanted - set(listed))]
    bad += [f"{page}: no source has {what} {name}" for name in sorted(set(listed) - wanted)]
    return bad + [f"{page}: {what} {n} stands there twice" for n in sorted(set(listed)) if listed.count(n) > 1]


@functools.cache
def help_of(program, words):
    told = docs_reference.told(program, words)
    return told if told is not None and told.startswith(f"argosy {' '.join(words)}:") else None


def check_command(program, name, command, rest):
    """A command line's first words, and each of its flags, against the program's own help."""
    words = (command, *[w for w in rest.split() if re.fullmatch(r"[a-z]+", w)][:1])
    text = help_of(program, words) or help_of(program, words[:1])
    if text is None:
        return [f"{name}: `argosy {command}` is not a command"]
    return [f"{name}: `argosy {command}` has no flag {flag}"
            for flag in re.findall(r"(?<!\S)--[a-z0-9-]+", rest) if not re.search(rf"{flag}(?![a-z-])", text)]


def check_commands(program):
    bad = []
    for command, rest in COMMAND.findall((ROOT / "README.md").read_text()):
        if command not in WRAPPER:
            bad += check_command(program, "README.md", command, rest)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))]:
        name = str(page.relative_to(ROOT))
        text = page.read_text().replace("\\\n", " ")
        for command, rest in TYPED.findall(text) + INLINE.findall(text):
            if command not in WRAPPER:
                bad += check_command(program, name, command, END.split(rest, maxsplit=1)[0])
    return bad


def check_command_line(program):
    have, now = docs_reference.COMMAND_LINE.read_text(), docs_reference.command_line(program)
    if have == now:
        return []
    lines = difflib.unified_diff(have.splitlines(), now.splitlines(), "the page", "the program", lineterm="", n=0)
    return ["docs/reference/command-line.md is not the program's help: run scripts/docs_reference.py --program "
            f"{program} --write", *list(lines)[:20]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="the built argosy, to hold the pages' commands against its help")
    args = parser.parse_args()
    bad = [line for page in pages() for line in check_page(page)]
    bad += check_names("docs/reference/errors.md", docs_reference.error_ids(), "the error id")
    bad += check_names("docs/reference/environment.md", docs_reference.environment(), "the environment variable")
    if args.program:
        program = str(pathlib.Path(args.program).resolve())
        bad += check_commands(program) + check_command_line(program)
    print("\n".join(bad) or f"docs: {len(pages())} pages, links, snippets, ids, variables and commands hold")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
