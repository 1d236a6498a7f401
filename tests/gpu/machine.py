"""The machine whose GPUs are checked: the program's commands, and what a part may end with."""
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 600  # seconds of a part


class Skip(Exception):
    pass


class Failed(Exception):
    pass


class Measured(str):
    """What a part gives that compares figures: there is nothing to pass."""


class Machine:
    def __init__(self, program, rehearsal=False):
        self.program, self.rehearsal = str(program), rehearsal
        self.mlp = self.pick(("mlp",), ("mlp", "--width", "8"))
        self.folder = tempfile.TemporaryDirectory()  # where trainings leave their pictures
        facts = json.loads(self.argosy("devices", "--json").stdout)["gpus"]
        self.gpus = [c for c in facts["cards"] if c["usable"]]
        self.driver = facts["driver"]
        self.problem = facts["problem"] or "no usable GPU"

    def pick(self, full, rehearsed):
        return rehearsed if self.rehearsal else full

    def argosy(self, *arguments, env=None, fails=False, limit=LIMIT, prefix=()):
        done = subprocess.run([*prefix, self.program, *arguments], capture_output=True, text=True, timeout=limit,
                              cwd=self.folder.name, env={**os.environ, **(env or {})})
        if fails is not None and (done.returncode != 0) != fails:
            raise Failed(f"argosy {' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()[-400:]}")
        return done

    def train(self, model, *flags, env=None, steps=None):
        steps = steps or self.pick(20, 2)
        if model == "mlp":
            model, flags = self.mlp[0], (*self.mlp[1:], *flags)
        done = self.argosy("train", model, "--data", "synthetic", "--steps", str(steps), "--no-verdict", "--seed", "7",
                           "--json", *flags, env=env)
        return json.loads(done.stdout)

    def used(self, gpu):
        """Bytes in use on a GPU, by NVML; None where that is not there."""
        facts = json.loads(self.argosy("devices", "--json").stdout)["gpus"]["cards"]
        used = next(one["memory_used_bytes"] for one in facts if one["number"] == self.gpus[gpu]["number"])
        return None if used is None or used < 0 else used

    def start_training(self, steps):
        """A process that trains an auto-encoder on the first GPU until it is stopped."""
        return subprocess.Popen([self.program, "train", "autoencoder", "--data", "synthetic", "--steps", str(steps),
                                 "--devices", "gpu:0", "--no-verdict"], cwd=self.folder.name,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
