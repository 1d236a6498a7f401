"""How contestants are run: each in a process of its own, once a round, in an order that changes; and what they said."""
import ctypes
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PEERS = pathlib.Path(os.environ.get("ARGOSY_PEERS", pathlib.Path.home() / ".cache/argosy-peers"))
LONGEST = 900  # seconds of one process
LEFT_OUT = 77  # the exit code of a contestant that cannot take part, and says why in one line
LOWER_IS_BETTER = {"us/step", "us/op", "us", "ns/op", "ns/iteration", "ns/cond", "ns", "us/node", "ms", "s", "MB",
                   "a step", "relative difference", "used / planned", "planned / used"}


def end_with_parent():
    """For a child, before anything else: it dies when whoever started it does, even by SIGKILL."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def end_group(leader):
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Run:
    """What one process said: {row: (best, median, limit, unit)}, details of rows, its seconds and its peak resident
    memory. A contestant may be a group of processes: it is a session of its own, and ends as one."""

    def __init__(self, command, cores, gpus):
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONDONTWRITEBYTECODE="1")
        if gpus is not None:
            environment["CUDA_VISIBLE_DEVICES"] = gpus
        pinned = sorted(os.sched_getaffinity(0))[:cores]
        began = time.perf_counter()
        with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
            def prepare():
                end_with_parent()
                os.sched_setaffinity(0, pinned)

            process = subprocess.Popen(command, stdout=stdout, stderr=stderr, cwd=HERE, env=environment,
                                       start_new_session=True, preexec_fn=prepare)
            limit = threading.Timer(LONGEST, end_group, [process.pid])
            limit.start()
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:  # interrupted
                end_group(process.pid)
                raise
            finally:
                limit.cancel()
            self.seconds = time.perf_counter() - began
            self.peak = usage.ru_maxrss / 1024  # MB
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                end_group(process.pid)  # what the dead one left behind
            out, errors = (f.seek(0) or f.read() for f in (stdout, stderr))
        if process.returncode == LEFT_OUT:
            raise RuntimeError((errors.strip().splitlines() or ["left out"])[-1])
        if process.returncode != 0:
            late = process.returncode == -signal.SIGKILL and self.seconds >= LONGEST
            why = f"exited with {process.returncode}: {errors.strip()[-300:]}"
            raise RuntimeError(f"{' '.join(command)} {f'did not end within {LONGEST} s' if late else why}")
        self.rows, self.details = {}, {}
        if out.lstrip().startswith("{\n"):
            for row in json.loads(out)["rows"]:
                self.rows[row["name"]] = (row["min"], row["median"], row["limit"], row["unit"])
        else:
            for line in out.splitlines():
                if line.startswith("{"):
                    row = json.loads(line)
                    self.rows[row["row"]] = (row["best"], row["median"], row.get("limit"), row["unit"])
                    if row.get("detail"):
                        self.details[row["row"]] = row["detail"]


class Contest:
    def __init__(self, row, options):
        self.row, self.options = row, options
        self.figures = {}  # contestant: [(best, median, limit, unit)], one a round
        self.missing, self.details = {}, {}
        self.runs = options.runs

    def contestants(self):
        for name, arguments in self.row.ours_by_name().items():
            program = self.options.program
            if name == "argosy before":  # another build on the same work
                program = self.options.before
                if program is None:
                    continue
            yield name, [a.replace("{program}", str(program)) for a in arguments]
        for name, arguments in self.row.peers.items():
            if name in self.options.without:
                self.missing[name] = "left out by --without"
                continue
            peer = name.split()[0]
            python = pathlib.Path(sys.executable) if peer == "context" else PEERS / peer / "bin/python"
            if python.exists():
                yield name, [str(python), self.row.script(peer)] + arguments
            else:
                self.missing[name] = f"not set up: {HERE.name}/setup {peer}"

    def round(self, turn):
        entries = list(self.contestants())
        for at in range(len(entries)):
            name, command = entries[(at + turn) % len(entries)]
            if name in self.missing:
                continue
            try:
                figure = self.measure(name, command, turn)
            except (RuntimeError, LookupError, ValueError) as error:  # the others go on
                self.missing[name] = str(error) or type(error).__name__
                continue
            self.figures.setdefault(name, []).append(figure)

    def measure(self, name, command, turn):
        # Rows that come out of one process are measured once a round.
        key = (turn, self.row.cores, *command)
        if key not in self.runs:
            with tempfile.TemporaryDirectory(dir=self.options.folder) as folder:
                filled = [a.format(seconds=self.options.seconds, folder=folder, cores=self.row.cores,
                                   python=sys.executable, product=getattr(self.row, "product", "")) for a in command]
                # A peer sees one GPU, whichever number it would give it; ours goes by numbers.
                gpus = self.options.gpus if is_ours(name) else self.options.peers_gpus
                try:
                    self.runs[key] = Run(filled, self.row.cores, gpus)
                except (RuntimeError, LookupError, ValueError) as error:
                    self.runs[key] = error
        run = self.runs[key]
        if isinstance(run, Exception):
            raise run
        if self.row.of_memory:
            return (run.peak, run.peak, None, "MB")
        if "start" in command:
            return (run.seconds, run.seconds, None, "s")
        wanted = self.row.ours[1]
        if not is_ours(name):
            wanted = self.row.peer_row or (wanted if len(run.rows) != 1 else next(iter(run.rows)))
        found = wanted if wanted in run.rows else next((row for row in run.rows if row.startswith(wanted)), None)
        if found is None:
            raise RuntimeError(f"{' '.join(command)} gave no row {wanted}: {', '.join(run.rows)}")
        if found in run.details:
            self.details[name] = run.details[found]
        return run.rows[found]

    def summary(self):
        made = {}
        for name, figures in self.figures.items():
            unit = figures[0][3]
            best = (min if unit in LOWER_IS_BETTER else max)(f[0] for f in figures)
            worst = (max if unit in LOWER_IS_BETTER else min)(f[0] for f in figures)
            limits = [f[2] for f in figures if f[2] is not None]
            median = statistics.median(f[1] for f in figures)
            if len(figures) == 1:  # of one process: how far its median is from its best
                worst = median
            made[name] = {"unit": unit, "best": best, "median": median,
                          "spread": abs(worst - best) / abs(best) if best else 0.0,
                          "limit": limits[0] if limits else None}
        limit = made.pop(self.row.limit_of, None)
        if limit and "argosy" in made:
            made["argosy"]["limit"] = limit["best"]
        if self.row.limit_from and "argosy" in made:
            name, times = self.row.limit_from
            made["argosy"]["limit"] = made[name]["best"] * times if name in made else None
        return made


def is_ours(name):
    return name.split()[0] == "argosy"
