#!/usr/bin/env python3
"""`argosy train` over processes on loopback: the bits of one process with as many devices, resuming on another number of
tasks, a killed task, programs that differ, silence of all but task 0. Started by `argosy launch --local`, and by
torchrun's variables."""
import argparse
import glob
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest

PROGRAM = ""
MLP = ["mlp", "--image-size", "16", "--width", "32", "--no-verdict", "--seed", "3"]
SHAPES = [(2, 2), (4, 1)]


def launch(tasks, devices, *args, code=0):
    words = [PROGRAM, "train", *args, "--emulate", str(devices), "--json"]
    done = subprocess.run([PROGRAM, "launch", "--local", str(tasks), "--", *words], capture_output=True, text=True,
                          timeout=200)
    if done.returncode != code:
        raise AssertionError(f"{args}: exit {done.returncode}, expected {code}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return json.loads(done.stdout) if code == 0 else done


def alone(devices, *args):
    done = subprocess.run([PROGRAM, "train", *args, "--emulate", str(devices), "--json"], capture_output=True, text=True,
                          timeout=200)
    if done.returncode != 0:
        raise AssertionError(f"{args}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def newest(folder):
    files = glob.glob(f"{folder}/model.ckpt-*.data-00000-of-00001")
    if not files:
        raise AssertionError(f"no checkpoint in {folder}: {os.listdir(folder)}")
    with open(max(files, key=lambda f: int(f.split("ckpt-")[1].split(".")[0])), "rb") as file:
        return file.read()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Bits(unittest.TestCase):
    def check(self, *model):
        with tempfile.TemporaryDirectory() as folder:
            if model[0] == "autoencoder":
                model = [*model, "--picture", f"{folder}/picture.png"]
            one = alone(4, *model, "--checkpoint-dir", f"{folder}/one")
            for tasks, devices in SHAPES:
                many = launch(tasks, devices, *model, "--checkpoint-dir", f"{folder}/{tasks}")
                self.assertEqual(many["losses"], one["losses"], f"{tasks} x {devices}")
                self.assertEqual(many["evaluation"], one["evaluation"], f"{tasks} x {devices}")
                self.assertTrue(newest(f"{folder}/{tasks}") == newest(f"{folder}/one"), f"other bits: {tasks} x {devices}")
                self.assertEqual([len(t["devices"]) for t in many["tasks"]], [devices] * tasks)
                self.assertEqual([t["task"] for t in many["tasks"]], list(range(tasks)))

    def test_mlp_with_dropout_and_an_uneven_batch(self):
        self.check(*MLP, "--steps", "6", "--batch", "38", "--dropout", "0.3")

    def test_lenet(self):
        self.check("lenet", "--image-size", "16", "--no-verdict", "--steps", "4", "--batch", "32")

    def test_autoencoder(self):
        self.check("autoencoder", "--image-size", "16", "--depth", "2", "--width", "8", "--no-verdict", "--steps", "4", "--batch",
                   "32")

    def test_slots_in_shards(self):
        self.check(*MLP, "--steps", "4", "--batch", "32", "--strategy", "dp,zero=1")


class Jobs(unittest.TestCase):
    def test_a_resumed_run_goes_on_with_another_number_of_tasks(self):
        model = [*MLP, "--batch", "32", "--dropout", "0.2", "--schedule", "constant"]
        with tempfile.TemporaryDirectory() as folder:
            alone(4, *model, "--steps", "8", "--checkpoint-dir", f"{folder}/one")
            launch(2, 2, *model, "--steps", "4", "--checkpoint-dir", f"{folder}/many")
            many = launch(4, 1, *model, "--steps", "8", "--checkpoint-dir", f"{folder}/many", "--resume")
            self.assertEqual(many["first_step"], 4)
            self.assertTrue(newest(f"{folder}/many") == newest(f"{folder}/one"))

    def task(self, rank, size, port, *args, faults=""):
        env = {**os.environ, "ARGOSY_FAULTS": faults, "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank),
               "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        process = subprocess.Popen([PROGRAM, "train", *args, "--emulate", "1"], env=env, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(lambda: process.kill() if process.poll() is None else None)
        return process

    def start(self, size, port, *args):
        return [self.task(rank, size, port, *args) for rank in range(size)]

    def test_torchruns_variables_and_the_silence_of_the_others(self):
        first, second = self.start(2, free_port(), *MLP, "--steps", "5", "--batch", "32", "--json")
        out, _ = first.communicate(timeout=100)
        other, err = second.communicate(timeout=100)
        self.assertEqual((first.returncode, second.returncode), (0, 0), err)
        self.assertEqual(len(json.loads(out)["tasks"]), 2)
        self.assertEqual(other, "")

    def test_a_killed_task_ends_the_others_with_one_cause_and_an_intact_checkpoint(self):
        with tempfile.TemporaryDirectory() as folder:
            processes = self.start(3, free_port(), *MLP, "--steps", "1000000", "--batch", "32", "--checkpoint-dir", folder,
                                   "--checkpoint-every", "20")
            deadline = time.time() + 60
            while not glob.glob(f"{folder}/*.index") and time.time() < deadline:
                time.sleep(0.05)
            self.assertTrue(glob.glob(f"{folder}/*.index"), "no checkpoint in 60 s")
            processes[1].send_signal(signal.SIGKILL)
            killed = time.time()
            causes = []
            for rank in (0, 2):
                _, err = processes[rank].communicate(timeout=30)
                self.assertEqual(processes[rank].returncode, 5, err[-2000:])
                causes.append([line for line in err.splitlines() if "ARG-" in line][-1:])
            self.assertLess(time.time() - killed, 10)
            self.assertEqual(causes[0], causes[1])
            self.assertIn("1", causes[0][0])
            newest(folder)
            resumed = launch(2, 1, *MLP, "--steps", "1", "--batch", "32", "--checkpoint-dir", folder, "--resume")
            self.assertGreaterEqual(resumed["first_step"], 20)

    def test_flags_that_differ_are_refused_by_name(self):
        port = free_port()
        first = self.task(0, 2, port, *MLP, "--steps", "5", "--batch", "32")
        second = self.task(1, 2, port, *MLP, "--steps", "5", "--batch", "64")
        _, err = second.communicate(timeout=60)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("--batch", err)
        first.kill()
        first.communicate()

    def test_a_task_whose_device_hangs_is_named_by_all(self):
        port = free_port()
        flags = [*MLP, "--steps", "1000000", "--batch", "32", "--stuck-after", "4"]
        processes = [self.task(rank, 3, port, *flags, faults="gpu:0:hang=3000" if rank == 1 else "") for rank in range(3)]
        causes = []
        for rank, process in enumerate(processes):
            _, err = process.communicate(timeout=90)
            self.assertEqual(process.returncode, 5, f"{rank}: {err[-2000:]}")
            causes.append([line for line in err.splitlines() if "ARG-" in line][-1:])
        self.assertEqual(causes[0], causes[1])
        self.assertEqual(causes[0], causes[2])
        self.assertIn("ARG-CLUSTER-125: task 1", causes[0][0])
        self.assertIn("tasks 0, 2 wait for it", causes[0][0])

    def test_steps_are_compared_with_one_devices(self):
        for flags in ([], ["--strategy", "dp,zero=1"], ["--strategy", "dp,accumulate=2"]):
            many = launch(2, 2, *MLP, "--steps", "4", "--batch", "32", "--dropout", "0.2", "--check", "3", *flags)
            self.assertEqual(many["checked_steps"], 3, many["not_checked"])
        launch(2, 1, "lenet", "--image-size", "16", "--no-verdict", "--steps", "3", "--batch", "32", "--check-strategy")

    def test_models_with_loops_and_norms(self):
        transformer = ["transformer", "--no-verdict", "--steps", "4", "--batch", "16"]
        resnet = ["resnet", "--image-size", "16", "--no-verdict", "--steps", "3", "--batch", "32"]
        for model in (transformer, [*resnet, "--sync-batch-norm"], [*resnet, "--sync-batch-norm", "--strategy", "dp,accumulate=2"]):
            one, many = alone(4, *model), launch(2, 2, *model)
            for a, b in zip(one["losses"], many["losses"], strict=True):
                self.assertAlmostEqual(a, b, delta=1e-5 * max(1, abs(a)), msg=str(model))

    def test_what_several_tasks_cannot_do_is_refused(self):
        done = launch(2, 1, *MLP, "--steps", "2", "--strategy", "auto", code=3)
        self.assertIn("ARG-CLUSTER-062", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    known, rest = parser.parse_known_args()
    PROGRAM = known.program
    unittest.main(argv=[__file__, *rest], verbosity=2)
