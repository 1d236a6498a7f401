#!/usr/bin/env python3
"""The program as its user meets it on a machine with GPUs: the plug-in is one with fake GPUs (fake_plugin.cc)."""
import argparse
import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = PLUGIN = ""


def argosy(*args, gpus="gpus=2", code=0, **environment):
    # What changes the devices around here must not change them in the test.
    env = {k: v for k, v in os.environ.items() if k not in ("ARGOSY_EMULATE", "ARGOSY_FAULTS", "ARGOSY_VIRTUAL_GPUS")}
    env |= {"ARGOSY_CUDA_PLUGIN": PLUGIN, "ARGOSY_FAKE_GPUS": gpus} | environment
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=300, env=env)
    if done.returncode != code:
        raise AssertionError(f"{args}: exit {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout) if "--json" in args and code == 0 else done


def link(gpus, a, b):
    return next(one for one in gpus["links"] if one["from"] == a and one["to"] == b)


class Doctor(unittest.TestCase):
    def test_every_pair_is_tried_and_shown_as_a_matrix(self):
        text = argosy("doctor", gpus="gpus=3,nccl=yes").stdout
        self.assertIn("from \\ to", text)
        self.assertRegex(text, r"gpu:0 +[0-9.]+ +- +[0-9.]+ direct +[0-9.]+ direct")
        self.assertRegex(text, r"host +- +[0-9.]+ +[0-9.]+ +[0-9.]+")
        self.assertIn("of gpu:0, gpu:1, gpu:2: by NCCL (it is there)", text)
        self.assertIn("with --reproducible: by kernels of our own (the order of the sum is fixed)", text)
        self.assertIn("cuBLASLt 13.0.2, /fake/libcublasLt.so.13", text)
        self.assertIn("libnvidia-ml.so.1 is not found", text)

    def test_json_has_the_same(self):
        gpus = argosy("doctor", "--json", gpus="gpus=2,nccl=yes")["gpus"]
        self.assertEqual(len(gpus["links"]), 6)
        for one in gpus["links"]:
            self.assertTrue(one["tried"] and one["intact"], one)
            self.assertGreater(one["bytes_per_second"], 0)
        self.assertTrue(link(gpus, "gpu:0", "gpu:1")["peer_access"])
        self.assertIsNone(link(gpus, "host", "gpu:1")["peer_access"])
        self.assertEqual(gpus["collectives"]["way"], "NCCL")
        self.assertEqual(gpus["collectives_reproducible"]["way"], "own")
        self.assertIn("NVML", [library["name"] for library in gpus["cuda_libraries"]])

    def test_gpus_that_do_not_reach_each_other(self):
        gpus = argosy("doctor", "--json", gpus="gpus=2,peers=refused")["gpus"]
        one = link(gpus, "gpu:1", "gpu:0")
        self.assertEqual((one["way"], one["peer_access"], one["intact"]), ("host", False, True))
        self.assertIn("gpu:1 to gpu:0 by the host: the GPUs do not reach each other",
                      argosy("doctor", gpus="gpus=2,peers=refused").stdout)

    def test_wrong_data_is_advice(self):
        report = argosy("doctor", "--json", gpus="gpus=2,peers=lie")
        self.assertEqual(link(report["gpus"], "gpu:0", "gpu:1")["way"], "host")
        self.assertTrue(any("wrong data" in line for line in report["advice"]), report["advice"])
        text = argosy("doctor", gpus="gpus=2,peers=lie-large").stdout
        self.assertIn("WRONG DATA", text)
        self.assertIn("ARGOSY_PEER_COPIES=0", text)
        text = argosy("doctor", gpus="gpus=2,peers=lie-large", ARGOSY_PEER_COPIES="0").stdout
        self.assertNotIn("WRONG DATA", text)
        self.assertIn("by host", text)
        text = argosy("doctor", gpus="host=lie").stdout
        self.assertIn("host to gpu:0: what arrives is not what was sent", text)

    def test_missing_libraries_and_an_old_one(self):
        text = argosy("doctor", gpus="gpus=2,libraries=none").stdout
        self.assertIn("cuBLASLt is not found", text)
        self.assertIn("by kernels of our own (no library of NVIDIA's is looked for here)", text)
        gpus = argosy("doctor", "--json", gpus="gpus=2,nccl=old")["gpus"]
        self.assertEqual(gpus["collectives"]["way"], "own")
        self.assertIn("too old", gpus["collectives"]["reason"])

    def test_quick_takes_no_gpu(self):
        gpus = argosy("doctor", "--json", "--quick")["gpus"]
        self.assertEqual(gpus["links"], [])
        self.assertEqual(len(gpus["cards"]), 2)


class Bench(unittest.TestCase):
    def rows(self, *args, **more):
        report = argosy("bench", *args, "--json", **more)
        return report, {row["name"]: row for row in report["rows"]}

    def test_copy_stands_beside_the_links(self):
        _, rows = self.rows("copy", "--devices", "gpu:0,gpu:1", "--mib", "2")
        self.assertIn("hop, 4 B, gpu:0 to gpu:1", rows)
        for name in ("gpu:0 to gpu:1", "gpu:1 to gpu:0", "cpu:0 to gpu:0", "gpu:1 to cpu:0"):
            row = rows[f"2 MiB, {name}"]
            self.assertGreater(row["min"], 0)
            self.assertGreater(row["limit"], 0)

    def test_copy_without_gpus_is_between_emulated_ones(self):
        _, rows = self.rows("copy", "--mib", "1", "--emulate", "2")
        self.assertIn("1 MiB, gpu to gpu", rows)
        refused = argosy("bench", "copy", "--devices", "cpu:0", code=2)
        self.assertIn("needs 2 GPUs", refused.stderr)

    def test_allreduce_stands_beside_a_ring_over_the_links(self):
        _, rows = self.rows("allreduce", "--devices", "gpu:0,gpu:1", "--mib", "1")
        row = rows["2 GPUs, 1.0 MiB"]
        self.assertGreater(row["min"], 0)
        self.assertGreater(row["limit"], 0)
        self.assertEqual(len(rows), 3)
        refused = argosy("bench", "allreduce", "--devices", "gpu:0", code=2)
        self.assertIn("needs two GPUs", refused.stderr)

    def test_matpow_on_one_gpu_and_on_two(self):
        report, rows = self.rows("matpow", "--devices", "gpu:0,gpu:1", "--size", "64", "--power", "3")
        self.assertEqual(set(rows), {"1 device", "1 device, in all", "2 devices", "products alone"})
        self.assertGreater(rows["2 devices"]["limit"], 0)
        self.assertGreater(rows["1 device, in all"]["limit"], 0)  # the products, and the link
        # Null with the reason, where other programs took the cores or rounds contradict each other.
        self.assertEqual(report["speedup"] is None, report["not_measured"] is not None)
        self.assertGreater(report["in_turn"]["speedup"]["median"], 0)
        self.assertEqual(report["in_turn"]["rounds"], 3)

    def test_matpow_in_bfloat16_with_its_sum_on_the_gpu(self):
        _, rows = self.rows("matpow", "--devices", "gpu:0", "--size", "64", "--power", "3", "--precision", "bf16", "--sum",
                            "device")
        self.assertGreater(rows["1 device, in all"]["min"], 0)

    def test_chains_are_launched_recorded_and_fused(self):
        _, rows = self.rows("launch", "--devices", "gpu:0", "--least", "4", "--most", "40", "--seconds", "0.01")
        for way in ("one by one", "recorded", "fused"):
            for name in (f"4 additions, {way}", f"40 additions, {way}", f"around a chain, {way}"):
                self.assertIn(name, rows)
        self.assertEqual(rows["40 additions, recorded"]["unit"], "us/op")

    def test_sessions_tell_what_they_leave(self):
        report, _ = self.rows("sessions", "--devices", "gpu:0", "--rounds", "4", "--size", "8")
        self.assertEqual(report["rounds"], 4)
        self.assertEqual(report["growth_bytes"], report["resident_growth_bytes"])
        self.assertNotIn("device_growth_bytes", report)  # there is no NVML

    def test_ops_that_only_move_elements_run_where_the_host_may_not_touch_them(self):
        """The CPU's kernels, which are the program's, with a copy engine that is the plug-in's."""
        losses = {}
        for device in ("cpu:0", "gpu:0"):
            losses[device] = argosy("train", "transformer", "--data", "synthetic", "--steps", "2", "--batch", "4", "--seed",
                                    "7", "--devices", device, "--no-verdict", "--json")["losses"]
        for got, expected in zip(losses["gpu:0"], losses["cpu:0"]):
            self.assertAlmostEqual(got, expected, delta=1e-3 * abs(expected))

    def test_a_stream_of_random_numbers_is_one_for_the_plug_in_and_the_program(self):
        """The draws are the plug-in's, and the place is the program's. Each had a stream of its own, without a word."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "draws.txt")
            with open(path, "w") as f:
                f.write('shape = Const [dtype=int32, value=int32[2] {4, 8}]\n'
                        'draw = RandomUniform(shape) [dtype=float, seed=3, seed2=5] @/device:GPU:0\n'
                        'place = _StreamPlace(^draw) [stream="draw", seed=3, seed2=5]\n')
            found = argosy("graph", "run", path, "--fetch", "place", "--fetch", "draw", "--json")["fetches"]
        key, counter, upper = found[0]["values"]
        self.assertEqual((key, upper), (3, 5))
        self.assertGreater(counter, 0)

    def test_train_on_one_gpu_and_on_two(self):
        _, rows = self.rows("train", "--devices", "gpu:0,gpu:1", "--only", "mlp B=10,", "--seconds", "0.1", "--product",
                            "64")
        self.assertEqual(set(rows), {"mlp B=10, 1 gpu", "mlp B=10, 2 gpus"})
        for row in rows.values():
            self.assertGreater(row["limit"], 0)
        refused = argosy("bench", "train", "--devices", "cpu:0", code=2)
        self.assertIn("has none", refused.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--plugin", required=True)
    arguments, rest = parser.parse_known_args()
    PROGRAM, PLUGIN = arguments.program, arguments.plugin
    unittest.main(argv=[__file__, *rest])
