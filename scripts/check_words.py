#!/usr/bin/env python3
"""The words that docs/words.md bans, looked for in code, comments, messages and documents (ctest "words").

    scripts/check_words.py [--count] [PATH ...]

The column "not" of docs/words.md lists words and phrases, separated by commas. A name counts by its parts: `on_gpu` and
`GpuFacts` hold the word GPU. A phrase is its words in a row, joined by spaces, hyphens, underscores or capitals:
`global_batch`, "global batch".
An entry in backticks counts in names only: `in_order` is `InOrder` and `run_in_order`, not "in order" in a sentence.
A plural counts as its singular. What the table "Exceptions" allows (a word and where it may stand) is left out.
`--self-test` plants words and fails if one goes unnoticed.
"""
import argparse
import collections
import fnmatch
import pathlib
import re
import sys

from check_prose import ROOT, tracked

SUFFIXES = {".h", ".cc", ".cu", ".py", ".md", ".txt", ".cmake", ".proto", ".sh", ".in", ".json", ".yml", ""}
# Other people's words, other programs' output, and what once was.
LEFT_OUT = ("docs/words.md", "CHANGELOG.md", "LICENSE", "docs/tensorflow-agreement.md", "fuzz/corpus/*")
NAME = re.compile(r"[A-Za-z0-9_]+")
JOINED = re.compile(r"[A-Za-z0-9_ \t-]+")
PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
ROW = re.compile(r"(?<!\\)\|")


def pieces(text):
    """The words of a text or name, lower case: "GpuFacts" is gpu, facts."""
    return [p.lower() for p in PIECE.findall(text)]


def rows(lines, header):
    """The rows, as dictionaries, of the tables whose header has the column `header`."""
    columns = None
    for line in lines:
        if not line.startswith("|"):
            columns = None
            continue
        cells = [c.strip() for c in ROW.split(line)[1:-1]]
        if columns is None:
            columns = [c.strip("* ").lower() for c in cells]
        elif header in columns and not set("".join(cells)) <= set("-: "):
            yield dict(zip(columns, cells))


def read_words(page):
    lines = page.splitlines()
    banned = {}
    for row in rows(lines, "not"):
        for word in row["not"].split(","):
            if pieces(word):
                banned[tuple(pieces(word))] = (re.sub(r"[*`]", "", row["word"]), "`" in word)
    allowed = [(tuple(pieces(word)), [w.strip("` ") for w in row["where"].split(",")])
               for row in rows(lines, "exception") for word in row["exception"].split(",")]
    return banned, allowed


def same(piece, word):
    return piece == word or piece == word + "s" or piece == word + "es"


def find_in(found, first):
    """The banned phrases, of those by their first word, in a row of words."""
    for at, piece in enumerate(found):
        for stem in {piece, piece.removesuffix("s"), piece.removesuffix("es")}:
            for phrase in first.get(stem, ()):
                if len(found) - at >= len(phrase) and all(same(f, w) for f, w in zip(found[at:], phrase)):
                    yield phrase


def find(text, banned):
    """(line number, banned phrase) of each use."""
    anywhere, in_names = collections.defaultdict(list), collections.defaultdict(list)
    for phrase, (_, names_only) in banned.items():
        (in_names if names_only else anywhere)[phrase[0]].append(phrase)
    for number, line in enumerate(text.splitlines(), 1):
        for run in JOINED.findall(line):
            for phrase in find_in(pieces(run), anywhere):
                yield number, phrase
        for name in NAME.findall(line):
            for phrase in find_in(pieces(name), in_names):
                yield number, phrase


def check(files, read, page):
    banned, allowed = read_words(page)
    places = []
    for path in files:
        if path.suffix not in SUFFIXES or any(fnmatch.fnmatch(str(path), pattern) for pattern in LEFT_OUT):
            continue
        free = {word for word, where in allowed if any(fnmatch.fnmatch(str(path), w) for w in where)}
        here = {phrase: term for phrase, term in banned.items() if phrase not in free}
        for number, phrase in [*find(str(path), here), *find(read(path), here)]:
            places.append((str(path), number, " ".join(phrase), here[phrase][0]))
    return places


def read_file(path):
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def self_test():
    page = ("| word | means | not |\n|---|---|---|\n| **GPU** | a device | chip, graphics device, `in_order` |\n\n"
            "| exception | where | why |\n|---|---|---|\n| chip | tools/* | a flag |\n")
    texts = {"a.h": "int on_chip;", "b.h": "struct ChipFacts;", "c.md": "Chips are many.", "d.h": "graphics_device();",
             "e.h": "chipmunk microchip Chipper graphics the device", "tools/f.cc": "--chip", "argosy/chips.h": "",
             "g.h": "class InOrder;", "h.h": "tasks run in order, in_orderly", "i.h": "graphics[device]"}
    found = check([pathlib.Path(p) for p in texts], lambda p: texts[str(p)], page)
    assert [p for p, *_ in found] == ["a.h", "b.h", "c.md", "d.h", "argosy/chips.h", "g.h"], found
    print(f"words self-test: {len(found)} planted words found")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    parser.add_argument("--count", action="store_true", help="uses of each word, without places")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    places = check(args.paths or tracked(), read_file, (ROOT / "docs/words.md").read_text())
    if args.count:
        for word, uses in collections.Counter(word for _, _, word, _ in places).most_common():
            print(f"{uses:6} {word}")
    else:
        for path, number, word, term in places:
            print(f"{path}:{number}: '{word}': the word is {term} (docs/words.md)")
    print(f"words: {len(places)} uses of banned words")
    return bool(places)


if __name__ == "__main__":
    sys.exit(main())
