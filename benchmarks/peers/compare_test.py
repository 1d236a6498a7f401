#!/usr/bin/env python3
"""compare on the CPU with rows as small as can be, ours alone; and what it makes of figures."""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = ""
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True


def load():
    loader = importlib.machinery.SourceFileLoader("compare", str(HERE / "compare"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
    loader.exec_module(module)
    return module


def compare(*words, code=0, **environment):
    with tempfile.TemporaryDirectory() as nobody:
        env = {**os.environ, "ARGOSY_PEERS": nobody, "ARGOSY_EMULATE": "", **environment}
        done = subprocess.run([sys.executable, str(HERE / "compare"), "--program", PROGRAM, *words], env=env,
                              capture_output=True, text=True, timeout=500)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


class Rows(unittest.TestCase):
    def test_every_row_runs_on_the_cpu(self):
        done = compare("--device", "cpu", "--sizes", "tiny", "--quick", "--seconds", "0.01", "--json")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual({row["row"].split()[0] for row in rows}, {f"G{n:02}" for n in range(1, 13)})
        for row in rows:
            self.assertNotIn("argosy", row["missing"], row)
            ours = row["figures"]["argosy"]
            self.assertEqual(set(ours), {"unit", "best", "median", "spread", "limit"})
            self.assertEqual(row["ratios"], {})
            for target in row["targets"]:
                self.assertEqual(set(target), {"wanted", "got", "met"})
            if "torch" in row["missing"]:
                self.assertIn("setup torch", row["missing"]["torch"])

    def test_a_gpu_that_is_not_there(self):
        done = compare("--device", "gpu:0", code=1, ARGOSY_CUDA_PLUGIN="none")
        self.assertIn("there is no gpu:0", done.stderr)
        self.assertIn("is no device", compare("--device", "tpu", code=1).stderr)

    def test_names_are_unique_and_what_they_point_at_is_there(self):
        from device_rows import SIZES, device_rows

        for device in ("cpu", "gpu:0"):
            for sizes in SIZES:
                rows = device_rows(device, sizes)
                names = [row.name for row in rows]
                self.assertEqual(len(names), len(set(names)), names)
                for row in rows:
                    for kind, _ in row.targets:
                        known = {"peers", "limit", "most", "least", "above limit"} | set(row.peers) | set(names)
                        self.assertIn(kind, known, row.name)


class Verdicts(unittest.TestCase):
    def judged(self, target, ours, ratios=None, earlier=None, **peers):
        compare_module = load()
        from benchmark_rows import Row

        figure = {"unit": "us/op", "best": 2.0, "median": 2.0, "spread": 0.0, "limit": 1.9} | ours
        row = Row("row", None, targets=[target], **peers)
        [verdict] = compare_module.judge(row, figure, ratios or {}, earlier or {})
        return verdict["met"]

    def test_targets(self):
        self.assertTrue(self.judged(("limit", 0.95), {}))
        self.assertFalse(self.judged(("limit", 0.97), {}))
        self.assertIsNone(self.judged(("limit", 0.95), {"limit": None}))
        self.assertTrue(self.judged(("most", 2), {}))
        self.assertFalse(self.judged(("most", 1.2), {}))
        self.assertFalse(self.judged(("least", 0.98), {"best": 0.5}))
        self.assertTrue(self.judged(("peers", 1.5), {}, {"torch": 2.0, "jax": 1.6}))
        self.assertFalse(self.judged(("peers", 1.5), {}, {"torch": 2.0, "jax": 1.4}))
        self.assertIsNone(self.judged(("peers", 1.5), {}))
        self.assertFalse(self.judged(("torch", 1.5), {}, {"torch": 1.0, "jax": 9}, torch=[]))
        self.assertTrue(self.judged(("above limit", 0.3), {}))
        self.assertFalse(self.judged(("above limit", 0.05), {}))
        self.assertTrue(self.judged(("E=1", 2), {}, earlier={"E=1": 1.0}))
        self.assertFalse(self.judged(("E=1", 2), {}, earlier={"E=1": 0.9}))

    def test_ratios(self):
        better_by = load().better_by
        self.assertEqual(better_by("us/op", 2.0, 3.0), 1.5)
        self.assertEqual(better_by("GB/s", 3.0, 2.0), 1.5)
        self.assertIsNone(better_by("hidden", 0.9, 0.5))
        self.assertIsNone(better_by("a step", 0, 5))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    arguments, rest = parser.parse_known_args()
    PROGRAM = arguments.program
    unittest.main(argv=[__file__, *rest])
