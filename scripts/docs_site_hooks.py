"""Hooks of mkdocs.yml: pages at the project's root become pages of the site, README.md its home.

Links between pages lead to pages; a link to a source file becomes its path as text, for the site does not hold sources."""
import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TAKEN_IN = {"index.md": "README.md", **{name: name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")}}
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)


def page_of(source):
    """The site's name of a file of the project; None where the site does not have it."""
    for page, name in TAKEN_IN.items():
        if source == ROOT / name:
            return page
    if DOCS in source.parents and source.suffix in (".md", ".png"):
        return str(source.relative_to(DOCS))
    return None


def follow(text, folder, page):
    """Links of a page that lies in `folder` of the project, as links of the site's page `page`."""
    def one(match):
        label, target = match.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not path:
            return match.group(0)
        source = pathlib.Path(os.path.normpath(folder / path))
        to = page_of(source)
        if to is not None:
            relative = os.path.relpath(to, os.path.dirname(page) or ".")
            return f"[{label}]({relative}{'#' + anchor if anchor else ''})"
        if not source.exists():
            return match.group(0)  # a link that leads nowhere: mkdocs build --strict says so
        where = str(source.relative_to(ROOT))
        return f"`{where}`" if label.strip("`") in (where, source.name) else f"{label} (`{where}`)"

    parts = FENCE.split(text)
    return "".join(part if i % 2 else LINK.sub(one, part) for i, part in enumerate(parts))


def on_files(files, config):
    for page, name in TAKEN_IN.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    name = page.file.src_uri
    folder = ROOT / pathlib.Path(TAKEN_IN[name]).parent if name in TAKEN_IN else DOCS / pathlib.Path(name).parent
    return follow(markdown, folder, name)
