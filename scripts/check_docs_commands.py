#!/usr/bin/env python3
"""Commands of docs/guide/ print what the pages show (ctest "docs_commands").

A page marks a console block that is to be run: <!-- run -->, with `exit=2` where its last command ends so, `varies=WORD,WORD`
for lines that begin so (and what is indented below them), and `tf` where it needs TensorFlow (--tf). A block under
<!-- file NAME --> is written to that file first. All blocks of a page share one empty folder, with the project's examples
in examples/. Every line that is shown must be printed, every line on standard output must be shown; numbers are masked.
A line … stands for more lines."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- (run|file)([^>]*?) -->\n```\w*\n(.*?)```", re.S)
NUMBER = re.compile(r"(?<![A-Za-z#])[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?")
UNIT = re.compile(r"# (?:B|KiB|MiB|GiB)\b")


def masked(line):
    line = UNIT.sub("# bytes", NUMBER.sub("#", line))
    return re.sub(r"\bcores\b", "core", re.sub(r"\s+", " ", line)).strip()


def steady(lines, varying):
    """Without the lines that begin with one of these words, and what is indented below such a line."""
    kept, dropping = [], False
    for line in lines:
        dropping = any(line.startswith(w) for w in varying) or (dropping and line.startswith("  "))
        if not dropping and line.strip():
            kept.append(line)
    return kept


def commands_of(text):
    """[command, shown lines] in a block; a command that ends with a backslash goes on."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found and found[-1][0].endswith("\\"):
            found[-1][0] = found[-1][0][:-1] + line.strip()
        elif found:
            found[-1][1].append(line)
    return found


def environment(folder, program):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ARGOSY_")}
    links = folder / ".bin"
    links.mkdir()
    (links / "argosy").symlink_to(program)
    own_python = pathlib.Path(sys.executable).parent
    env.update(PATH=f"{links}:{own_python}:{env['PATH']}", COLUMNS="110", NO_COLOR="1", LC_ALL="C.UTF-8", TERM="dumb",
               ARGOSY_CUDA_PLUGIN="none", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    return env


def check_output(shown, done, varying):
    out = [masked(line) for line in steady(done.stdout.splitlines(), varying)]
    err = [masked(line) for line in done.stderr.splitlines()]
    wanted = [masked(line) for line in steady(shown, varying)]
    bad = [f"shown, not printed: {line}" for line in wanted if line != "…" and line not in out + err]
    if "…" not in wanted:
        bad += [f"printed, not shown: {line}" for line in out if line not in wanted]
    return bad


def check_page(page, program, tf):
    bad, count = [], 0
    with tempfile.TemporaryDirectory(prefix="argosy_docs_") as name:
        folder = pathlib.Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        env = environment(folder, program)
        for kind, options, text in BLOCK.findall(page.read_text()):
            words = options.replace(":", " ").split()
            if kind == "file":
                (folder / words[0]).write_text(text)
                continue
            if ("tf" in words) != tf:
                continue
            given = dict(w.split("=", 1) for w in words if "=" in w)
            commands = commands_of(text)
            for i, (command, shown) in enumerate(commands):
                expected = int(given.get("exit", 0)) if i + 1 == len(commands) else 0
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True,
                                      timeout=120)
                wrong = check_output(shown, done, [w for w in given.get("varies", "").split(",") if w])
                if done.returncode != expected:
                    wrong.append(f"exit code {done.returncode}, not {expected}: {done.stderr.strip()[-500:]}")
                bad += [f"{page.name}: $ {command}\n    {w}" for w in wrong]
                count += 1
    return count, bad


def self_test():
    """A page that tells lies: each is found; the same page without them passes."""
    lies = {"shown, not printed: two": "$ echo one\none\ntwo\n", "printed, not shown: two": "$ echo one; echo two\none\n",
            "exit code 3, not 0": "$ echo one; exit 3\none\n", "shown, not printed: a GPU": "$ echo a CPU\na GPU\n…\n"}
    missed = []
    with tempfile.TemporaryDirectory(prefix="argosy_docs_") as name:
        page = pathlib.Path(name) / "page.md"
        for wanted, text in lies.items():
            page.write_text(f"<!-- run -->\n```console\n{text}```\n")
            if not any(wanted in line for line in check_page(page, "/bin/true", False)[1]):
                missed.append(f"self-test: not found: {wanted}")
        page.write_text("<!-- run exit=3 varies=rate -->\n```console\n$ echo 12 MiB; echo rate 7; exit 3\n34 GiB\nrate 8\n```\n")
        missed += check_page(page, "/bin/true", False)[1]
    print("\n".join(missed) or f"docs_commands: {len(lies)} lies found")
    return bool(missed)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the built argosy")
    parser.add_argument("--tf", action="store_true", help="run the blocks marked tf instead of the others: this Python has "
                        "TensorFlow")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="default: docs/guide/*.md")
    args = parser.parse_args()
    start, count, bad = time.monotonic(), 0, []
    for page in args.pages or sorted((ROOT / "docs/guide").glob("*.md")):
        ran, wrong = check_page(page, pathlib.Path(args.program).resolve(), args.tf)
        count, bad = count + ran, bad + wrong
    print("\n".join(bad) or f"docs_commands: {count} commands print what the pages show, "
          f"{time.monotonic() - start:.1f} s")
    return bool(bad) or count == 0


if __name__ == "__main__":
    sys.exit(main())
