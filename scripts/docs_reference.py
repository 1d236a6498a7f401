#!/usr/bin/env python3
"""What docs/reference/ must name: error ids and environment variables in the sources, and the program's own help.

`docs_reference.py --program build/release/bin/argosy --write` writes docs/reference/command-line.md. Used by check_docs.py."""
import argparse
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND_LINE = ROOT / "docs/reference/command-line.md"
HEAD = """# Command line

This page is the program's own help. `scripts/docs_reference.py --write` makes it, the test `docs` compares it.
"""
NUMBERED = re.compile(r"\bARG-[A-Z]+-\d{3}\b")
GENERAL = re.compile(r'(?<!starts_with\()"(ARG-[A-Z]+)"')
CPP_READS = (re.compile(r'\b(?:getenv|environment|from_environment|set_in_environment|forced|text)\("([A-Z][A-Z0-9_]+)"'),
             re.compile(r'\b(?:text_of|has|number_of|number_or)\(environment, "([A-Z][A-Z0-9_]+)"'),
             re.compile(r'(?<!setenv\()"(ARGOSY_[A-Z0-9_]+)"'))
CPP_LISTS = re.compile(r"for \(const char\* \w+ : \{([^}]*)\}\) \{?\s*(?:if|const)[^;]{0,80}(?:getenv|text)\(")
PYTHON_READS = re.compile(r"""os\.environ(?:\.get\(["']([A-Z][A-Z0-9_]+)["']|\[["']([A-Z][A-Z0-9_]+)["']\](?! = ))""")
SHELL_READS = re.compile(r"\$\{?(ARGOSY_[A-Z0-9_]+)")


def sources(folders, suffixes, tests):
    """Files of these folders; test sources only where `tests` says so."""
    for folder in folders:
        top = ROOT / folder
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            in_test = path.stem.endswith("_test") or "testing" in path.parts
            if path.is_file() and path.suffix in suffixes and (tests or not in_test):
                yield path, path.read_text(errors="replace")


def without_comments(text):
    return re.sub(r"(?<!:)//.*", "", text)


def error_ids():
    """Every id that an error of the library or the program may carry."""
    found = set()
    for path, text in sources(("argosy", "tools"), {".cc", ".h", ".cu", ".cuh"}, tests=False):
        code = without_comments(text)
        found |= set(NUMBERED.findall(code)) | set(GENERAL.findall(code))
    return found


def environment():
    """Every variable that the library and the program read, and what begins with ARGOSY_ of all that is read elsewhere."""
    product, elsewhere = ("argosy", "tools"), ("tests", "fuzz", "benchmarks", "examples", "scripts", "argosyw")
    found = set()
    for folders in (product, elsewhere):
        read = set()
        for _, text in sources(folders, {".cc", ".h", ".cu"}, tests=True):
            code = without_comments(text)
            for pattern in CPP_READS:
                read |= set(pattern.findall(code))
            for names in CPP_LISTS.findall(code):
                read |= set(re.findall(r'"([A-Z]+(?:_[A-Z0-9]+)+)"', names))
        for path, text in sources(folders, {".py", ""}, tests=True):
            read |= {name for pair in PYTHON_READS.findall(text) for name in pair if name}
            if text.startswith("#!") and "sh" in text.splitlines()[0]:
                read |= set(SHELL_READS.findall(text))
        found |= {name for name in read if folders is product or name.startswith("ARGOSY_")}
    return found


def told(program, words):
    """The help of a command, always at the same width; None where there is no such command."""
    env = {**os.environ, "COLUMNS": "110", "NO_COLOR": "1"}
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=60, env=env)
    return done.stdout if done.returncode == 0 else None


def subcommands(text):
    section = re.search(r"^Commands\n(.*?)\n\n", text, re.M | re.S)
    return re.findall(r"^  ([a-z]+)  ", section.group(1), re.M) if section else []


def command_line(program):
    """The page: every command's help, a heading each."""
    parts = [HEAD]
    waiting = [[]]
    while waiting:
        words = waiting.pop(0)
        text = told(program, words)
        if text is None:
            continue
        title = " ".join(["argosy", *words])
        parts.append(f"{'##' if len(words) < 2 else '###'} {title}\n\n```text\n{text.rstrip()}\n```\n")
        waiting = [words + [name] for name in subcommands(text) if name != "help"] + waiting
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the built argosy")
    parser.add_argument("--write", action="store_true", help="write docs/reference/command-line.md")
    args = parser.parse_args()
    page = command_line(args.program)
    if args.write:
        COMMAND_LINE.write_text(page)
    else:
        print(page)


if __name__ == "__main__":
    main()
