"""What figures say: ratios, shares of a limit, and whether a row's targets were met."""
from contest import LOWER_IS_BETTER, is_ours


def better_by(unit, ours, theirs):
    """How many times as good ours is; nothing where that means nothing (a share that is hidden, a count of none)."""
    if unit == "hidden" or ours <= 0 or theirs <= 0:
        return None
    return theirs / ours if unit in LOWER_IS_BETTER else ours / theirs


def brief(x):
    return f"{x:.3g}" if abs(x) < 1000 else f"{x:.0f}"


def share_of_limit(ours):
    return better_by(ours["unit"], ours["best"], ours["limit"]) if ours["limit"] else None


def judge(row, ours, ratios, earlier):
    """Each of the row's targets: what is wanted, what was found, whether that is enough (None: it cannot be said)."""
    verdicts = []
    for kind, value in row.targets:
        if kind == "limit":
            wanted, got, enough = f"{value * 100:.0f} % of the limit", share_of_limit(ours), lambda got: got >= value
        elif kind == "above limit":
            got = ours["best"] - ours["limit"] if ours["limit"] else None
            wanted, enough = f"at most {value} {ours['unit']} above the limit", lambda got: got <= value
        elif kind == "most":
            wanted, got, enough = f"at most {value} {ours['unit']}", ours["best"], lambda got: got <= value
        elif kind == "least":
            wanted, got, enough = f"at least {value}", ours["best"], lambda got: got >= value
        elif kind == "peers":
            of_peers = [ratio for name, ratio in ratios.items() if not is_ours(name)]
            got = min(of_peers) if of_peers else None
            wanted, enough = f"{value:.3g} x the best peer", lambda got: got >= value
        elif kind in row.peers or kind in row.variants:
            wanted, got, enough = f"{value:.3g} x {kind}", ratios.get(kind), lambda got: got >= value
        else:
            got = ours["best"] / earlier[kind] if kind in earlier else None
            wanted, enough = f"at most {value} x {kind}", lambda got: got <= value
        verdicts.append({"wanted": wanted, "got": got, "met": None if got is None else enough(got)})
    return verdicts


def verdict_text(verdict):
    return "not to be said" if verdict["met"] is None else "" if verdict["met"] else "BELOW TARGET"


def ratios_of(made, by="best"):
    """Contestant: how many times as good as it ours is. Peers first, then other builds or strategies of ours."""
    ours = made.get("argosy")
    if ours is None:
        return {}
    others = sorted((name for name in made if name != "argosy"), key=is_ours)
    found = {name: better_by(ours["unit"], ours[by], made[name][by]) for name in others}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


def describe(contest, earlier):
    made, row = contest.summary(), contest.row
    ours = made.get("argosy")
    line = f"{row.name:<32}"
    for name, figure in made.items():
        line += f"  {name} {brief(figure['best'])} ({brief(figure['median'])}, ±{figure['spread'] * 100:.0f} %)"
    if ours is None:
        return line, made, None, []
    line += f"  {ours['unit']}"
    ratios = ratios_of(made)
    of_peers = {name: ratio for name, ratio in ratios.items() if not is_ours(name)}
    if of_peers:
        nearest = min(of_peers, key=of_peers.get)
        line += f"  = {of_peers[nearest]:.2f} x {nearest}"
    for name, ratio in ratios.items():
        if is_ours(name):
            line += f"  = {ratio:.2f} x {name}"
    share = share_of_limit(ours)
    if share is not None:
        line += f"; {share * 100:.0f} % of the limit {brief(ours['limit'])}"
    verdicts = judge(row, ours, ratios, earlier)
    for verdict in verdicts:
        said = verdict_text(verdict)
        line += f"; wanted {verdict['wanted']}{': ' + said if said else ''}"
    earlier[row.name] = ours["best"]
    return line, made, ratios, verdicts
