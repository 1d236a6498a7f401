"""The rows of strategies as one table: ours, the best peer, other strategies or builds of ours, and what was wanted."""
from contest import is_ours
from verdicts import brief, ratios_of, verdict_text

COLUMNS = ("row", "ours", "unit", "best peer", "ratio", "of medians", "spread", "limit", "beside ours", "wanted")


def table_row(row):
    figures = row["figures"]
    ours = figures.get("argosy")
    if ours is None:
        return [row["row"], "-", "", "", "", "", "", "", "", row["missing"].get("argosy", "not run")[:90]]
    medians = ratios_of(figures, "median")
    peers = {name: ratio for name, ratio in row["ratios"].items() if not is_ours(name)}
    beside = [f"{name.removeprefix('argosy ')} {brief(figures[name]['best'])} ({row['ratios'][name]:.2f} x)"
              if name in row["ratios"] else f"{name.removeprefix('argosy ')} {brief(figures[name]['best'])}"
              for name in figures if is_ours(name) and name != "argosy"]
    nearest = min(peers, key=peers.get) if peers else None
    shown = nearest or next((name for name in figures if not is_ours(name)), None)
    verdicts = [f"{v['wanted']}: {verdict_text(v) or 'met'}" for v in row["targets"]]
    return [row["row"], brief(ours["best"]), ours["unit"], f"{shown} {brief(figures[shown]['best'])}" if shown else "",
            f"{peers[nearest]:.2f}" if nearest else "", f"{medians[nearest]:.2f}" if nearest in medians else "",
            f"±{ours['spread'] * 100:.0f} %", brief(ours["limit"]) if ours["limit"] is not None else "",
            "; ".join(beside), "; ".join(verdicts)]


def table(document):
    lines = ["", "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(table_row(row)) + " |" for row in document]
    return "\n".join(lines)
