#!/usr/bin/env python3
"""compare on the CPU with rows as small as can be, ours alone; and what it makes of figures."""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
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


def until(holds, seconds=60):
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:
            raise AssertionError("it did not come true in time")
        time.sleep(0.02)


def runs(pid):
    """Whether the process is alive; one that nobody has waited for is not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


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


class Strategies(unittest.TestCase):
    # What this build may not know yet, or what a busy machine does not say; nothing else may be missing.
    LATER = ("does not know argosy", "there is no sharding_test", "sharding_test does not know", "not measured: ")

    def test_every_row_runs_or_names_what_it_lacks(self):
        done = compare("strategies", "--sizes", "tiny", "--quick", "--seconds", "0.01", "--json")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual({row["row"].split()[0] for row in rows},
                         {"S01", "S02", "S04", "S08", "S09", "S11", "S13", "S14"})
        for row in rows:
            if "argosy" in row["missing"]:
                self.assertTrue(any(text in row["missing"]["argosy"] for text in self.LATER), row)
                self.assertNotIn("S01", row["row"])
                continue
            self.assertEqual(set(row["figures"]["argosy"]), {"unit", "best", "median", "spread", "limit"})
            self.assertFalse([name for name in row["figures"] if not name.startswith("argosy")])
            for name, why in row["missing"].items():
                if not name.startswith("argosy"):
                    self.assertIn("not set up", why)
        plain = {row["row"]: row for row in rows}["S09 batches of 1 to 11, 2 devices, dp"]
        self.assertEqual(plain["figures"]["argosy"]["best"], 11, plain)

    def test_lines_a_table_and_json(self):
        done = compare("S01 mlp", "S13", "--sizes", "tiny", "--quick", "--seconds", "0.01", "--before", PROGRAM)
        lines = done.stdout.splitlines()
        rows = [json.loads(line) for line in lines if line.startswith("{")]
        self.assertEqual([row["row"].split()[0] for row in rows], ["S01", "S01", "S13", "S13"])
        self.assertEqual(len([line for line in lines if line.startswith("| S")]), len(rows))
        for row in rows[:2]:  # another build runs in the same turns
            self.assertIn("argosy before", row["ratios"])
            self.assertEqual([v["wanted"] for v in row["targets"]], ["1.2 x the best peer", "0.98 x argosy before"])

    def test_a_build_that_knows_no_strategies(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "argosy")
            program.write_text("#!/bin/sh\n[ $1 = plan ] && exit 2\necho Usage\n")
            program.chmod(0o755)
            done = compare("S02", "S11", "--sizes", "tiny", "--quick", "--json", "--program", str(program))
        for row in json.loads(done.stdout)["rows"]:
            self.assertEqual((row["figures"], row["targets"]), ({}, []))
            self.assertIn("sharding_test" if "propagate" in row["row"] else
                          "argosy plan" if "plan" in row["row"] else "argosy train --strategy",
                          row["missing"]["argosy"])

    def test_a_contestant_that_says_nonsense_is_named(self):
        for said in ("", "{", "{\\n", "{\\n}", "no figures"):
            with tempfile.TemporaryDirectory() as folder:
                program = pathlib.Path(folder, "argosy")
                program.write_text(f"#!/bin/sh\nprintf '{said}'\n")
                program.chmod(0o755)
                done = compare("S01 mlp", "--sizes", "tiny", "--quick", "--json", "--program", str(program))
            for row in json.loads(done.stdout)["rows"]:
                self.assertTrue(row["missing"]["argosy"], said)

    def test_contestants_end_with_compare(self):
        with tempfile.TemporaryDirectory() as folder:
            program, started = pathlib.Path(folder, "argosy"), pathlib.Path(folder, "started")
            program.write_text(f"#!/bin/sh\necho $$ > {started}.part\nmv {started}.part {started}\nexec sleep 300\n")
            program.chmod(0o755)
            for signal_number in (signal.SIGTERM, signal.SIGKILL):
                started.unlink(missing_ok=True)
                running = subprocess.Popen([sys.executable, str(HERE / "compare"), "--program", str(program), "S01"],
                                           env={**os.environ, "ARGOSY_PEERS": folder}, stderr=subprocess.DEVNULL)
                until(started.exists)
                contestant = int(started.read_text())
                running.send_signal(signal_number)
                running.wait(timeout=60)
                until(lambda: not runs(contestant))

    def test_names_are_unique_and_targets_point_at_contestants(self):
        from strategy_rows import SIZES, strategy_rows

        for sizes in SIZES:
            rows = strategy_rows(sizes, before=True)
            self.assertEqual(len(rows), len({row.name for row in rows}))
            for row in rows:
                for kind, _ in row.targets:
                    self.assertIn(kind, {"peers", "most", "least"} | set(row.variants), row.name)

    def test_rows_of_clusters_want_the_client_of_a_peer(self):
        done = compare("C01", "C02", "C03", "C12", "--sizes", "tiny", "--quick", "--json")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([row["row"].split()[0] for row in rows], ["C01", "C02", "C03", "C12"])
        for row in rows:
            self.assertIn("not set up", row["missing"]["argosy"], row["row"])
            self.assertIn("not set up", row["missing"]["tf"], row["row"])

    def test_rows_of_jobs_run(self):
        done = compare("C07", "C08", "C09", "--sizes", "tiny", "--quick", "--json")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([row["row"].split()[0] for row in rows], ["C07", "C08", "C08", "C09"])
        for row in rows:
            self.assertIn("not set up", row["missing"]["torch"], row["row"])
            if row["row"].startswith("C09") and "root" in row["missing"].get("argosy", ""):
                continue
            self.assertGreater(row["figures"]["argosy"]["best"], 0, row)
            self.assertNotIn("not within", json.dumps(row["details"]), row)
        causes = [row["details"]["argosy"] for row in rows if "until all" in row["row"]]
        self.assertIn("is gone", causes[0])
        self.assertNotIn(";", causes[0], "one cause")

    def test_a_job_is_known_and_ended_whole(self):
        from job_processes import Job, state_of, wait_for

        with Job(["sh", "-c", "sleep 100 & sleep 100 & wait"]) as job:
            self.assertIsNotNone(wait_for(lambda: len(job.ranks(lambda words: words[:1] == ["sleep"])) == 2, 10))
            sleeping = job.ranks(lambda words: words[:1] == ["sleep"])
            os.kill(job.process.pid, signal.SIGKILL)
            self.assertIsNone(wait_for(job.ended, 0.2), "its children still run")
        for pid in sleeping:
            self.assertIsNotNone(wait_for(lambda: not state_of(pid)[1], 10))

    def test_peers_are_not_other_builds_of_ours(self):
        compare_module = load()
        from benchmark_rows import Row

        row = Row("row", None, targets=[("peers", 1.2), ("argosy before", 0.98)], variants={"argosy before": []},
                  torch=[])
        figure = {"unit": "samples/s", "best": 3.0, "median": 2.0, "spread": 0.0, "limit": None}
        ratios = compare_module.ratios_of({"argosy": figure, "argosy before": figure | {"best": 3.1},
                                           "torch": figure | {"best": 2.0}})
        self.assertEqual(list(ratios), ["torch", "argosy before"])
        self.assertEqual([v["met"] for v in compare_module.judge(row, figure, ratios, {})], [True, False])

    def test_differences_of_checkpoints(self):
        from train_runs import largest_of

        apart = largest_of({"name": "v", "what": "1 of 3 values differ, most by 2e-3 at [0,1]"}, {"v": 4.0}.get)
        self.assertAlmostEqual(apart, 5e-4)
        self.assertEqual(largest_of({"name": "v", "what": "only in runs/b"}, {"v": 4.0}.get), float("inf"))
        self.assertEqual(largest_of({"name": "v", "what": "1 of 3 values differ, most by 1 at [0]"}, {"v": 0.0}.get),
                         float("inf"))


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
