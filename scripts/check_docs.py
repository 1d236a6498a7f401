#!/usr/bin/env python3
"""Pages that stay true (ctest "docs"): every relative link leads somewhere; a snippet under a comment that names a file,
<!-- examples/x.cc -->, is verbatim in that file; and every `argosy <subcommand>` that README.md shows exists."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
SNIPPET = re.compile(r"<!-- (\S+) -->\n```\w*\n(.*?)```", re.S)
COMMAND = re.compile(r"(?:\./argosyw|\$ argosy) ([a-z]+)((?: [^#\n]*)?)")
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


def check_commands(program):
    """The first words of each command line of the README, and each of its flags, against the program's own help."""
    bad = []
    for command, rest in COMMAND.findall((ROOT / "README.md").read_text()):
        if command in WRAPPER:
            continue
        words = [command] + [w for w in rest.split() if re.fullmatch(r"[a-z]+", w)][:1]
        for tried in (words, words[:1]):
            told = subprocess.run([program, *tried, "--help"], capture_output=True, text=True, timeout=30)
            if told.returncode == 0 and told.stdout.startswith(f"argosy {' '.join(tried)}:"):
                break
        else:
            bad.append(f"README.md: `argosy {command}` is not a command")
            continue
        for flag in re.findall(r"--[a-z-]+", rest):
            if flag not in told.stdout:
                bad.append(f"README.md: `argosy {command}` has no flag {flag}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", help="the built argosy, to hold the README's commands against its help")
    args = parser.parse_args()
    bad = [line for page in pages() for line in check_page(page)]
    if args.program:
        bad += check_commands(args.program)
    print("\n".join(bad) or f"docs: {len(pages())} pages, links, snippets and commands hold")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
