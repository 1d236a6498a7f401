#!/usr/bin/env python3
"""No sentence over 32 words in documents and in the comments of headers (ctest "prose").

    scripts/check_prose.py [--most 32] [--list] [PATH ...]

A document is a .md file. Code blocks, HTML comments and quoted output do not count; inline code is one word, a link is
its text. In a header, a run of `//` lines is a text. A line that starts a list item, a heading or a table row starts a
new sentence, and so does each cell of a table.
`--self-test` checks the counting.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 32
# Written by programs, or lists of what others are called.
LEFT_OUT = ("docs/tensorflow-agreement.md", "docs/gpu-kernels.md", "docs/reference/command-line.md", "LICENSE")

NEW_TEXT = re.compile(r"^\s*(?:[*+-] |\d+[.)] |#+ |\||>|<|!\[|\s{4,}\S)")
ENDS = re.compile(r"(?<=[.!?])[\")*_`]*\s+|(?<=:)\s*$")


def documents_texts(lines):
    """(line number, text) of each paragraph, list item and table cell of a Markdown document."""
    texts, fence, comment = [], False, False
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*(```|~~~)", line):
            fence = not fence
            texts.append((number, ""))
            continue
        if "<!--" in line:
            comment = "-->" not in line
            texts.append((number, ""))
            continue
        if comment:
            comment = "-->" not in line
            continue
        if fence:
            continue
        line = line.strip("\n")
        if re.match(r"\s*\|", line):
            texts += [(number, cell) for cell in re.split(r"(?<!\\)\|", line)]
            texts.append((number, ""))
        elif not line.strip():
            texts.append((number, ""))
        elif re.match(r"\s*(?:[*+-] |\d+[.)] |#+ |>)", line) or not texts or not texts[-1][1]:
            texts.append((number, line))
            if re.match(r"#+ ", line):
                texts.append((number, ""))
        else:
            texts[-1] = (texts[-1][0], texts[-1][1] + " " + line.strip())
    return texts


def headers_texts(lines):
    """(line number, text) of each comment of a C++ header; drawings (lines indented by three or more) are left out."""
    texts, column = [], None  # where the comment that may go on begins
    for number, line in enumerate(lines, 1):
        found = re.match(r"\s*//[/!]? ?(.*)$", line)
        trailing = None if found else re.search(r"\s//[/!<]* (.*)$", line)
        text = found.group(1) if found else trailing.group(1) if trailing else ""
        at = line.find("//")
        if found and column == at and text.strip() and not re.match(r"\s{2,}|[*+-] |\d+[.)] |@", text):
            texts[-1] = (texts[-1][0], texts[-1][1] + " " + text.strip())
        elif found and re.match(r"\s{3,}", text):
            column = None
            continue
        elif text.strip():
            texts.append((number, text.strip()))
        column = at if text.strip() else None
    return texts


def words(sentence):
    sentence = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", sentence)
    sentence = re.sub(r"``.+?``|`[^`]+`|\"[^\"]+\"|«[^»]+»", " code ", sentence)
    return re.findall(r"[\w'’./:+%-]*\w[\w'’./:+%-]*", sentence)


def sentences(texts):
    for number, text in texts:
        for sentence in ENDS.split(re.sub(r"``.+?``|`[^`]+`", "code", text)):
            yield number, sentence


def long_ones(path, lines, most):
    texts = documents_texts(lines) if path.suffix == ".md" else headers_texts(lines)
    return [(number, len(words(s)), s.strip()) for number, s in sentences(texts) if len(words(s)) > most]


def self_test():
    page = ["# A title", "", "One two. Three four", "five. * six", "* `a b c d` seven", "| a | b c |", "```", "x " * 50, "```"]
    found = [words(s) for _, s in sentences(documents_texts(page))]
    assert ["Three", "four", "five."] in [f for f in found] or ["Three", "four", "five"] in found, found
    assert max(len(f) for f in found) == 3, found
    header = ["// One two", "// three. Four.", "//    a drawing of no words that count at all in here", "int x;  // five six",
              "// seven", "int y;  // eight", "        // nine"]
    assert [len(words(s)) for _, s in sentences(headers_texts(header))] == [3, 1, 2, 1, 2]
    long = " ".join(["word"] * 33) + "."
    assert long_ones(pathlib.Path("a.md"), [long], MOST) and not long_ones(pathlib.Path("a.md"), [long[5:]], MOST)
    assert long_ones(pathlib.Path("a.h"), ["// " + long[:60], "// " + long[60:]], MOST)
    print("prose self-test: sentences are found and counted")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--list", action="store_true", help="whole sentences")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    files = args.paths or [p for p in tracked() if p.suffix in (".md", ".h")]
    total = count = 0
    for path in files:
        if str(path) in LEFT_OUT:
            continue
        full = path if path.is_absolute() else ROOT / path
        count += 1
        for number, length, sentence in long_ones(path, full.read_text().splitlines(), args.most):
            total += 1
            print(f"{path}:{number}: {length} words: {sentence if args.list else sentence[:80] + ' …'}")
    print(f"prose: {total} sentences over {args.most} words in {count} files")
    if total:
        print("  say each as two, subject first (CONTRIBUTING.md, Documents)")
    return bool(total)


def tracked():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [pathlib.Path(p) for p in listed.stdout.splitlines() if (ROOT / p).is_file()]
    folders = ("argosy", "docs", "tools", "examples", "benchmarks", "tests", "fuzz", "scripts")
    found = [p for f in folders for p in (ROOT / f).rglob("*")] + list(ROOT.glob("*.md"))
    return sorted(p.relative_to(ROOT) for p in found if p.is_file())


if __name__ == "__main__":
    sys.exit(main())
