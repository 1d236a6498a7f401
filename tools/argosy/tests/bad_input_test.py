#!/usr/bin/env python3
"""The built program against wrong flags, missing files and damaged ones (ctest "cli_bad_input"), and against right ones.

Every error must leave with its exit code, say what, where and what to type next on stderr, keep stdout empty (or one
JSON document under --json), and be over in seconds. Rows are data; a new command adds rows.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

NODE_X = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"


def node_y(op, source):
    return f"node {{ name: 'y' op: '{op}' input: '{source}' attr {{ key: 'T' value {{ type: DT_FLOAT }} }} }}\n"


GRAPH = "x = Placeholder [dtype=float, shape=shape[?,4]]\ny = Identity(x)\n"

# words, exit code, what stderr must contain. {good} is a checkpoint, {dir} its folder, {s} the scratch folder.
BAD = [
    ("trian mlp", 2, ["unknown command \"trian\"", "argosy train"]),
    ("devcies", 2, ["unknown command", "argosy devices"]),
    ("--frobnicate", 2, ["unknown flag --frobnicate"]),
    ("version extra", 2, ["unexpected argument \"extra\""]),
    ("version --color", 2, ["--color wants a value"]),
    ("version --color pink", 2, ["\"pink\" is none of auto, always, never"]),
    ("doctor --jsno", 2, ["unknown flag --jsno", "argosy doctor --json"]),
    ("serve --replicate=1", 2, ["--replicate takes a number of GPUs from 2 on, or all", "--replicate all"]),
    ("serve --sync-batch-norm", 2, ["--sync-batch-norm is of replicated steps", "--replicate"]),
    ("run --sync-batch-norm -- true", 2, ["--sync-batch-norm is of replicated steps", "--replicate"]),
    ("serve --check", 2, ["--check is of replicated steps", "--replicate --check"]),
    ("serve --replicate --check=x", 2, ["\"x\" is not a whole number"]),
    ("run --check -- true", 2, ["--check is of replicated steps", "--replicate --check"]),
    ("run --replicate --check -1 -- true", 2, ["-1"]),
    ("train mlp --check -1", 2, ["-1"]),
    ("train mlp --check=some", 2, ["\"some\" is not a whole number"]),
    ("train mlp --strategy", 2, ["--strategy wants a value"]),
    ("train mlp --strategy pipeline=2", 2, ["ARG-SHARD-001", "\"pipeline\" is none of", "argosy train mlp --strategy dp"]),
    ("train mlp --strategy dp,zro=1", 2, ["\"zro\" is none of", "--strategy dp,zero=1"]),
    ("train mlp --strategy dp=two", 2, ["dp=\"two\" is no whole number"]),
    ("train mlp --strategy dp=0", 2, ["dp=0 is not from 1"]),
    ("train mlp --strategy dp,zero=2", 2, ["zero=2 is not from 0 to 1"]),
    ("train mlp --strategy dp,dp=2", 2, ["dp is given twice"]),
    ("train mlp --strategy auto,zero=1", 2, ["stands alone"]),
    ("train mlp --emulate 2 --strategy dp=3", 2, ["ARG-SHARD-002", "is for 3 devices, and the step has 2", "--strategy dp=2"]),
    ("train mlp --emulate 2 --strategy @{s}/none", 3, ["{s}/none", "argosy plan"]),
    ("train mlp --emulate 2 --strategy @{s}/good.txt", 2, ["ARG-SHARD-004", "no strategy file"]),
    ("train mlp --emulate 2 --strategy @{s}/other.plan", 2, ["ARG-SHARD-003", "is for lenet, this run has mlp"]),
    ("train ensemble --strategy auto", 2, ["--strategy does nothing for ensemble"]),
    ("train ensemble --check-strategy", 2, ["--check-strategy does nothing for ensemble"]),
    ("launch", 2, ["PROGRAM is missing", "argosy launch --local 2"]),
    ("launch -- true", 2, ["no hosts", "--local"]),
    ("launch --local 0 -- true", 2, ["--local", "0", "1"]),
    ("launch -H a:0,b -- true", 2, ["ARG-CLUSTER-050", "\"a:0\"", "-H gpu-a:4,gpu-b:4"]),
    ("launch -H -oProxyCommand=x -- true", 2, ["no name of a host"]),
    ("launch -H a,a -- true", 2, ["twice"]),
    ("launch -H localhost,b -- true", 2, ["ARG-CLUSTER-048"]),
    ("launch -H a:2 -np 3 -- true", 2, ["3 processes", "2 slots"]),
    ("launch --hostfile {s}/none -- true", 3, ["{s}/none"]),
    ("launch --hostfile {s}/good.txt -- true", 2, ["line 1"]),
    ("launch --on pbs --local 2 -- true", 2, ["\"pbs\" is none of auto, ssh, slurm"]),
    ("launch --on kubernetes -- true", 2, ["no image", "--image"]),
    ("launch --on kubernetes --image i --name A_b -- true", 2, ["\"A_b\" is no name"]),
    ("launch --nnodes 2 -- true", 2, ["--node-rank"]),
    ("launch --local 2 --redirects 9 --log-dir {s}/logs -- true", 2, ["\"9\" does not say which streams"]),
    ("launch --local 2 --redirects 3 -- true", 2, ["--log-dir"]),
    ("launch --local 1 -- {s}/none", 127, ["{s}/none", "task 0"]),
    ("status", 2, ["HOST:PORT is missing"]),
    ("status here", 2, ["ARG-CLUSTER-030", "it has no port"]),
    ("status 127.0.0.1:1", 3, ["ARG-CLUSTER-054", "connection refused"]),
    ("status no-such-host.invalid:1", 3, ["no-such-host.invalid"]),
    ("cluster check", 2, ["ARG-CLUSTER-055", "argosy launch"]),
    ("cluster check --rank 1", 2, ["ARG-CLUSTER-032", "--coordinator"]),
    ("cluster check --rank 2 --tasks 2 --coordinator a:1", 2, ["rank 2 of 2"]),
    ("plan", 2, ["MODEL is missing"]),
    ("plan mlpp", 2, ["\"mlpp\" is none of", "argosy plan mlp"]),
    ("plan ensemble", 2, ["\"ensemble\" is none of"]),
    ("plan graph.pb", 3, ["ARG-FILE-001", "graph.pb"]),
    ("plan mlp --depth 2", 2, ["--depth does nothing for mlp"]),
    ("plan mlp --steps 2", 2, ["unknown flag --steps"]),
    ("plan mlp --batch 0", 2, ["--batch", "0", "1"]),
    ("plan mlp --devices gpu:0", 3, ["--emulate"]),
    ("run --emulate 2 --strategy dp=3 -- true", 2, ["ARG-SHARD-002", "is for 3 devices, and the step has 2", "--strategy dp=2"]),
    ("run --emulate 2 --replicate 3 -- true", 2, ["ARG-CLUSTER-120", "--replicate 3: the session has 2 GPUs", "--replicate all"]),
    ("run --emulate 4 --replicate 2 --strategy dp=4 -- true", 2, ["is for 4 devices, and the step has 2"]),
    ("run --emulate 2 --strategy @{s}/none -- true", 3, ["{s}/none", "argosy plan"]),
    ("run --emulate 2 --strategy @{s}/good.txt -- true", 2, ["ARG-SHARD-004", "no strategy file"]),
    ("run --emulate 2 --strategy @{s}/other.plan -- true", 2, ["ARG-SHARD-003", "is for the model lenet of argosy train"]),
    ("serve --emulate 2 --strategy dp=3", 2, ["ARG-SHARD-002", "--strategy dp=2"]),
    ("plan mlp --emulate 2 --strategy dp=3", 2, ["is for 3 devices, and the step has 2"]),
    ("plan mlp --emulate 2 --strategy @{s}/none", 3, ["{s}/none"]),
    ("plan mlp --emulate gpu:1MiB", 4, ["ARG-MEM-002", "does not fit"]),
    ("train ensemble --check", 2, ["--check does nothing for ensemble"]),
    ("train mlp --sync-batch-norm", 2, ["--sync-batch-norm does nothing for mlp"]),
    ("devices --emulate", 2, ["--emulate wants a value"]),
    ("devices --emulate x", 2, ["\"x\"", "--emulate 2"]),
    ("devices --emulate -1", 2, ["-1"]),
    ("devices --emulate 1000000", 2, ["1000000"]),
    ("devices --emulate gpu:lots", 2, ["lots"]),
    ("devices --emulate gpu:4GiB@0", 2, ["gpu:4GiB@0"]),
    ("devices --emulate 1 --mem gpu:0=zz", 2, ["gpu:0=zz"]),
    ("devices --emulate 1 --mem gpu:0=-4GiB", 2, ["gpu:0=-4GiB"]),
    ("devices --mem gpu", 2, ["gpu"]),
    ("train mlp --members 4", 2, ["--members does nothing for mlp", "ensemble"]),
    ("train mlp --steps 0", 2, ["--steps", "\"0\" is not a whole number of at least 1", "argosy train mlp --steps 1"]),
    ("train mlp --epochs 0", 2, ["--epochs", "\"0\" is not a whole number of at least 1"]),
    ("train mlp --image-size 0", 2, ["--image-size", "\"0\" is not a whole number from 1"]),
    ("train transformer --layers 0", 2, ["--layers", "\"0\" is not a whole number from 1"]),
    ("train mlp --steps 2 --epochs 1", 2, ["--epochs does nothing beside --steps"]),
    ("train mlp --checkpoint-every 5", 2, ["--checkpoint-every does nothing without --checkpoint-dir", "add --checkpoint-dir"]),
    ("train mlp --resume", 2, ["--resume does not say from where", "add --checkpoint-dir"]),
    ("train mlp --shards 16", 2, ["--shards does nothing without --reproducible", "add --reproducible"]),
    ("train mlp --stuck-after 5", 2, ["--stuck-after does nothing without a launcher", "leave it out"]),
    ("train mlp --emulate 2 --virtual-gpus 2", 2, ["--emulate is in place of the real GPUs", "argosy train mlp --virtual-gpus 2"]),
    ("plan lenet --virtual-gpus 2 --emulate 2", 2, ["--emulate is in place of the real GPUs", "argosy plan lenet --"]),
    ("train lenet --members 3", 2, ["--members does nothing for lenet", "ensemble"]),
    ("train mlp --depth 2", 2, ["--depth does nothing for mlp", "autoencoder"]),
    ("train transformer --data {s}", 2, ["--data does nothing for transformer"]),
    ("train ensemble --checkpoint-dir {s}/c", 2, ["--checkpoint-dir does nothing for ensemble"]),
    ("train ensemble --no-verdict", 2, ["--no-verdict does nothing for ensemble"]),
    ("train ensemble --emulate gpu:30MiB", 4, ["does not fit", "--mem"]),
    ("graph", 0, []),
    ("graph shw g", 2, ["unknown command \"shw\"", "argosy graph show"]),
    ("graph show", 2, ["FILE is missing"]),
    ("graph show {s}/none.txt", 3, ["{s}/none.txt", "No such file"]),
    ("graph show {s}", 2, ["Is a directory"]),
    ("graph show {s}/unknown_op.txt", 2, ["line 1", "Identit"]),
    ("graph show {s}/cut.txt", 2, ["line 1"]),
    ("graph show {s}/binary.txt", 2, ["ARG-IMPORT-009", "10240 bytes are no GraphDef, MetaGraphDef or SavedModel"]),
    ("graph dot {s}/huge_shape.txt", 2, ["line 1"]),
    ("graph show --all-attrs=3 {s}/good.txt", 2, ["--all-attrs is a switch"]),
    ("serve --port 65536", 2, ["\"65536\" is not a whole number"]),
    ("serve --host 0.0.0.0 --port 0", 2, ["certificates", "--insecure-tf-clients"]),
    ("serve --host 0.0.0.0 --port 0 --insecure-tf-clients ten", 2, ["'ten' is no network"]),
    ("serve --port 0 --tls-cert {s}/good.txt", 2, ["--tls-cert FILE --tls-key FILE --tls-ca FILE"]),
    ("serve --port 0 --tls-cert {s}/none --tls-key {s}/none --tls-ca {s}/none", 3, ["{s}/none"]),
    ("serve --port 0 --http-port 0 --http-clients ten", 2, ["'ten' is no network"]),
    ("serve --port 0 --max-connections 0", 2, ["\"0\" is not a whole number"]),
    ("serve --port 0 --client-lease -2", 2, ["\"-2\" is not a whole number"]),
    ("serve --port 0 --devices gpu:0", 3, ["--emulate"]),
    ("serve --cluster x --job ps --task 0", 2, ["cluster: no JSON: at byte", "worker"]),
    ("serve --cluster @{s}/none --job ps --task 0", 3, ["{s}/none"]),
    ("serve --job ps --task 0", 2, ["of a cluster, which is not given", "--cluster"]),
    ("serve --cluster {{\"ps\":[\"localhost:1\"]}}", 2, ["which task of the cluster this is", "--job ps --task 0"]),
    ("serve --cluster {{\"ps\":[\"localhost:1\"]}} --job ps --task 1", 2, ["has no task /job:ps/replica:0/task:1", "--job ps --task 0"]),
    ("serve --cluster {{\"ps\":[\"localhost:1\"]}} --job ps --port 7", 2, ["--port 7 contradicts the cluster", "leave out --port"]),
    ("serve --cluster {{\"ps\":[\"localhost:1\"]}} --job ps --host 10.0.0.1", 2, ["--host 10.0.0.1 contradicts", "leave out --host"]),
    ("serve --cluster {{\"ps\":[\"203.0.113.7:1\"]}} --job ps", 2, ["certificates", "--insecure-cluster"]),
    ("serve --port 0 --allow-files {s}/none", 3, ["{s}/none"]),
    ("serve --host 203.0.113.7 --port 1 --insecure-tf-clients 10.0.0.0/8", 3, ["203.0.113.7:1"]),
    ("graph import", 2, ["FILE is missing"]),
    ("graph import {s}/none.pb", 3, ["{s}/none.pb", "check the path"]),
    ("graph show {s}/none.pb", 3, ["{s}/none.pb", "No such file", "check the path"]),
    ("graph import {s}/empty", 3, ["saved_model.pb"]),
    ("graph import {s}/binary.pb", 2, ["{s}/binary.pb"]),
    ("graph import {s}/broken.pbtxt --report", 2, ["line 2"]),
    ("graph show {s}/dangling.pbtxt", 2, ["Unknown input node 'nowhere'"]),
    ("graph dot {s}/broken.pbtxt", 2, ["line 2"]),
    ("graph diff {s}/good.pbtxt", 2, ["SECOND is missing"]),
    ("graph diff {s}/good.pbtxt {s}/none.pb", 3, ["{s}/none.pb"]),
    ("graph strip {s}/good.pbtxt {s}/out.pb --output z", 3, ["no node \"z\""]),
    ("graph strip {s}/good.pbtxt {s}/no/such/out.pb --output y", 3, ["{s}/no/such/out.pb"]),
    ("graph run {s}/good.pbtxt", 2, ["--fetch"]),
    ("graph run {s}/good.pbtxt --fetch z", 3, ["no node \"z\""]),
    ("graph run {s}/good.pbtxt --fetch y --feed x", 2, ["NAME=FILE.npy"]),
    ("graph run {s}/good.pbtxt --fetch y --feed x=three", 2, ["\"three\"", "a number up to 3.4028235e+38"]),
    ("graph run {s}/good.pbtxt --fetch y --feed x={s}/none.npy", 3, ["{s}/none.npy"]),
    ("graph run {s}/good.pbtxt --fetch y --feed x=1 --out {s}/a.npy --out {s}/b.npy", 2, ["2 files"]),
    ("graph run {s}/good.pbtxt --fetch y --feed x=1 --devices gpu:0", 3, ["--emulate"]),
    ("graph run {s}/missing_op.pbtxt --fetch y", 1, ["Op type not registered 'Frobnicate'", "node 'y'"]),
    ("graph run {s}/model --feed question=1 --fetch nothing", 3,
     ["no node \"nothing\"", "signature serving_default: feed question float[?,2]; fetch answer float[?,2]"]),
    ("graph run {s}/model --fetch answer", 1, ["signature serving_default: feed question", "--feed question=FILE.npy"]),
    ("graph run {s}/model --signature other --fetch answer", 3, ["there is no signature \"other\"", "--signature serving_default"]),
    ("graph run {s}/good.pbtxt --fetch z", 3, ["the graph: feed x float<unknown>; fetch y"]),
    ("graph run {s}/both --fetch answer", 2, ["another value in each of the signatures a, b", "--signature a"]),
    ("help trian", 2, ["unknown command \"trian\"", "argosy train --help"]),
    ("help ckpt lss", 2, ["argosy ckpt ls --help"]),
    ("train mlp --gpus 2 --devices cpu:0", 2, ["--gpus and --devices both say what to use"]),
    ("train mlp --gpus two", 2, ["\"two\" is not a whole number"]),
    ("train mlp --gpus 0", 2, ["\"0\" is not a whole number from 1"]),
    ("train mlp --gpus 2", 3, ["--emulate 2"]),
    ("train mlp --emulate 2 --gpus 1,5", 3, ["gpu:5"]),
    ("serve --port 0 --gpus 2", 3, ["--emulate 2"]),
    ("train autoencoder --image-size 20 --depth 3", 2, ["cannot be halved 3 times", "--image-size 24, or --depth 2"]),
    ("bench", 0, []),
    ("bench matpw", 2, ["unknown command \"matpw\"", "argosy bench matpow"]),
    ("bench matpow --size 0", 2, ["\"0\" is not a whole number from 1"]),
    ("bench matpow --size 1e3", 2, ["\"1e3\" is not a whole number"]),
    ("bench matpow --devices gpu:0", 3, ["--emulate"]),
    ("bench matpow --emulate 2 --devices gpu:7", 3, ["gpu:7"]),
    ("bench matpow --emulate 2 --devices tpu:0", 2, ["tpu"]),
    ("bench matpow --emulate 2 --devices gpu:x", 2, ["gpu:x"]),
    ("bench allreduce --ranks 99", 2, ["\"99\" is not a whole number from 0"]),
    ("bench allreduce --ranks 1", 2, ["a sum needs two GPUs"]),
    ("bench copy --devices cpu:0", 2, ["needs 2 GPUs", "--emulate 2"]),
    ("bench copy --devices gpu:0,gpu:1", 3, ["--emulate"]),
    ("bench train --devices cpu:0", 2, ["has none"]),
    ("doctor --quick=1", 2, ["--quick"]),
    ("train mlp --check-replicas -2", 2, ["\"-2\" is not a whole number"]),
    ("train", 2, ["MODEL is missing", "argosy train autoencoder"]),
    ("train mlpp", 2, ["\"mlpp\" is none of", "argosy train mlp"]),
    ("train mlp --steps 1.5", 2, ["\"1.5\" is not a whole number"]),
    ("train mlp --steps -1", 2, ["\"-1\" is not a whole number"]),
    ("train mlp --batch 0x10", 2, ["\"0x10\" is not a whole number"]),
    ("train mlp --batch 0", 2, ["--batch", "0", "1"]),
    ("train mlp --width 0", 2, ["--width", "0", "1"]),
    ("train mlp --dropout 1", 2, ["--dropout", "0.999"]),
    ("train resnet --dropout 0.5", 2, ["--dropout does nothing for resnet"]),
    ("train autoencoder --depth 0", 2, ["--depth", "0", "1"]),
    ("train mlp --lr nan", 2, ["\"nan\" is not a number"]),
    ("train mlp --optimizer adma", 2, ["\"adma\"", "--optimizer adam"]),
    ("train mlp --precision fp8", 2, ["\"fp8\" is none of"]),
    ("train mlp --stpes 3", 2, ["unknown flag --stpes", "--steps"]),
    ("train mlp --steps 1 --devices gpu:0", 3, ["--emulate"]),
    ("train mlp --steps 1 --emulate 2 --devices gpu:5", 3, ["gpu:5"]),
    ("train mlp --steps 1 --emulate 2 --mem gpu:0=lots", 2, ["gpu:0=lots"]),
    ("train mlp --steps 1 --data {s}/none", 3, ["{s}/none"]),
    ("train mlp --steps 1 --data {s}/empty", 3, ["{s}/empty"]),
    ("train mlp --steps 1 --resume", 2, ["--checkpoint-dir"]),
    ("train mlp --steps 1 --resume --checkpoint-dir {s}/wrong --data synthetic --image-size 16 --width 32", 2, ["{s}/wrong"]),
    ("train mlp --steps 1 --checkpoint-dir {s}/good.txt/a", 3, ["{s}/good.txt"]),
    ("ckpt ls", 2, ["PATH is missing"]),
    ("ckpt ls {s}/none", 3, ["{s}/none"]),
    ("ckpt cat {good}", 2, ["TENSOR is missing"]),
    ("ckpt cat {good} flaot", 3, ["has no tensor 'flaot'", "argosy ckpt ls"]),
    ("ckpt cat {good} float --limit -1", 2, ["\"-1\" is not a whole number of at least 0"]),
    ("ckpt diff {good}", 2, ["B is missing"]),
    ("ckpt diff {good} {good} --tolerance much", 2, ["\"much\" is not a number"]),
    ("ckpt verify {s}/empty", 3, ["no checkpoint in"]),
    ("ckpt verify {s}/flipped_data", 6, ["checksum"]),
    ("ckpt verify {s}/flipped_index", 6, ["flipped_index"]),
    ("ckpt verify {s}/short_data", 6, ["short_data"]),
    ("ckpt verify {s}/no_data", 6, ["data file"]),
    ("ckpt ls {s}/empty_index", 6, ["empty_index"]),
    ("ckpt ls {s}/garbage_index", 6, ["garbage_index"]),
    ("ckpt cat {s}/flipped_data {tensor}", 6, ["checksum"]),
]
GOOD = [
    ("--version", "argosy "),
    ("", "Commands"),
    ("ckpt --help", "verify"),
    ("version", "oneDNN"),
    ("doctor", "argosy train autoencoder --emulate 2"),
    ("devices --emulate 2", "gpu:1"),
    ("graph show {s}/good.txt", "y = Identity(x)"),
    ("graph dot {s}/good.txt", "digraph"),
    ("graph show {s}/long.pbtxt", "{{0, 0, 0, 0, 0, 0, 0, 0, … of 1000}}"),
    ("graph import {s}/model", "feed   question  float[?,2]  x:0"),
    ("graph import {s}/model", "run    argosy graph run {s}/model --feed question=FILE.npy --fetch answer"),
    ("graph import {s}/good.pbtxt", "feed   x  float"),
    ("graph run {s}/both --signature b --feed question=2 --fetch answer", "answer = float[] {{-2}}"),
    ("help", "Exit codes"),
    ("help train", "Checkpoints"),
    ("plan mlp --emulate 2 --image-size 8 --width 16", "plan        mlp, "),
    ("graph import {s}/good.pbtxt --report", "native"),
    ("graph show {s}/good.pbtxt", "y = Neg(x)"),
    ("graph show {s}/missing_op.pbtxt", "# not converted: y: Op type not registered 'Frobnicate'"),
    ("graph dot {s}/good.pbtxt", "digraph"),
    ("graph diff {s}/good.pbtxt {s}/good.pbtxt", ""),
    ("graph strip {s}/good.pbtxt {s}/out.pb --output y", ""),
    ("graph diff {s}/good.pbtxt {s}/out.pb", ""),
    ("graph run {s}/out.pb --feed x=2.5 --fetch y", "-2.5"),
    ("ckpt ls {dir}", "model"),
    ("ckpt ls {good}", "float"),
    ("ckpt ls {good}.index", "float"),
    ("ckpt verify {dir}", "ok"),
    ("ckpt cat {good} {tensor}", "{tensor}"),
    ("ckpt diff {good} {good}", ""),
]


# What may stand between the commands of an advice, and after them.
BREAKS = re.compile(r", or |; |: | or |, the | says | shows | lists | for | \(| where |, else | of | in a | with |  ")
WORDS = {"FILE": "no_file", "DIR": "no_folder", "NAME": "x", "N": "1", "RATE": "0.5", "PATH": "no_file", "TENSOR": "x", "FOLDER": "no_folder",
         "NAME=FILE.npy": "x=no_file.npy", "NAME=NUMBER": "x=1", "PROGRAM": "true"}


def commands_in(words, advice):
    """Words after "argosy" of each command in the advice; flags ("--batch 12") are put to the words that were typed."""
    for part in BREAKS.split(advice):
        try:
            typed = [w for w in shlex.split(part) if w != "…"]
        except ValueError:  # a quotation in prose
            continue
        if typed[:1] == ["argosy"]:
            typed = typed[1:]
        elif typed and typed[0].startswith("--"):
            flags = {w.split("=")[0] for w in typed if w.startswith("--")}
            flags |= {"--gpus"} if "--devices" in flags else set()  # two words for one thing
            kept, skip = [], False
            for i, w in enumerate(words):
                if w.split("=")[0] in flags:
                    skip = "=" not in w and i + 1 < len(words) and not words[i + 1].startswith("--")
                elif skip:
                    skip = False
                else:
                    kept.append(w)
            end = kept.index("--") if "--" in kept else len(kept)  # what follows is another program's
            typed = kept[:end] + typed + kept[end:]
        else:
            continue
        yield tuple(WORDS.get(w, w) for w in typed)


class Harness:
    def __init__(self, program, scratch):
        self.program, self.scratch, self.failures, self.count = program, scratch, [], 0
        self.names = {"s": str(scratch)}
        self.advice = []  # the words that were wrong, and what the error says to try

    def run(self, words):
        command = [self.program] + words.format(**self.names).split()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ARGOSY_")}
        self.count += 1
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=30, env=environment)

    def fail(self, words, why, done):
        self.failures.append(f"argosy {words.format(**self.names)}\n  {why}\n  exit {done.returncode}\n"
                             f"  stdout: {done.stdout[:600]}\n  stderr: {done.stderr[:900]}")

    def expect_error(self, words, code, texts):
        done = self.run(words)
        if done.returncode != code:
            return self.fail(words, f"must exit with {code}", done)
        if code == 0:
            return None
        told = [line.split(" ", 1)[0] for line in done.stderr.replace("\n  ", "\n").splitlines()]
        for part in ("error", "where", "try"):
            if told.count(part) != 1:
                return self.fail(words, f"stderr must have one line '{part} …'", done)
        for text in texts:
            if text.format(**self.names) not in done.stderr:
                return self.fail(words, f"stderr must contain {text!r}", done)
        advice = re.search(r"^  try +(.*)$", done.stderr, re.M)
        self.advice.append((words.format(**self.names).split(), advice.group(1)))
        if "verify" not in words and done.stdout:
            return self.fail(words, "stdout must stay empty", done)
        return None

    def try_advice(self):
        """Every "try …" of an error that is a command, or flags for the one that was typed, is understood by the program."""
        tried, prose = set(), 0
        for words, advice in self.advice:
            commands = list(commands_in(words, advice))
            prose += not commands
            for command in commands:
                if command in tried:
                    continue
                tried.add(command)
                process = subprocess.Popen([self.program, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True, errors="replace", cwd=self.scratch)
                try:
                    _, told = process.communicate(timeout=2)  # what is wrong with words is told at once
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    continue
                if process.returncode == 2:
                    self.failures.append(f"argosy {' '.join(words)}\n  advises: {advice}\n  but argosy {' '.join(command)}\n"
                                         f"  exits with 2: {told[:600]}")
        return len(tried), prose

    def expect_json_error(self, words, code):
        """The same mistake with --json: one document, with the error in it."""
        program = words.partition(" -- ")  # what stands behind is another program's
        done = self.run(program[0] + " --json" + "".join(program[1:]))
        try:
            document = json.loads(done.stdout)
            told = document.get("error") or document["checkpoints"]
            assert document["schema_version"] == 1 and told and done.returncode == code
        except (ValueError, KeyError, AssertionError) as error:
            self.fail(words + " --json", f"must print one JSON document with the error and exit {code}: {error!r}", done)

    def expect_good(self, words, text):
        done = self.run(words)
        if done.returncode != 0 or text.format(**self.names) not in done.stdout:
            self.fail(words, f"must exit with 0 and print {text!r}", done)

    def expect_good_json(self, words):
        done = self.run(words + " --json")
        try:
            assert done.returncode == 0 and json.loads(done.stdout)["schema_version"] == 1
        except (ValueError, KeyError, AssertionError) as error:
            self.fail(words + " --json", f"must print one JSON document: {error!r}", done)


def make_files(harness, ckpt_tool):
    s = harness.scratch
    saved = {"argosy_strategy": 1, "strategy": "dp=2", "devices": [], "for": {"model": "lenet"}, "batch": 128}
    (s / "other.plan").write_text(json.dumps(saved))
    for name, text in {"good": GRAPH, "unknown_op": "y = Identit(x)\n", "cut": "x = Placeholder [dtype=fl",
                       "huge_shape": "x = Placeholder [dtype=float, shape=shape[99999999999999999999]]\n"}.items():
        (s / f"{name}.txt").write_text(text)
    for name, text in {"good": NODE_X + node_y("Neg", "x"), "broken": NODE_X + "node { nmae: }\n",
                       "dangling": node_y("Neg", "nowhere"), "missing_op": NODE_X + node_y("Frobnicate", "x")}.items():
        (s / f"{name}.pbtxt").write_text(text)
    saved = ("saved_model_schema_version: 1 meta_graphs {{ meta_info_def {{ tags: 'serve' }} graph_def {{ {graph} }} {signatures} }}")
    typed = "dtype: DT_FLOAT tensor_shape { dim { size: -1 } dim { size: 2 } }"

    def signature(name, answer):
        return (f"signature_def {{ key: '{name}' value {{ inputs {{ key: 'question' value {{ name: 'x:0' {typed} }} }} "
                f"outputs {{ key: 'answer' value {{ name: '{answer}:0' {typed} }} }} }} }}")

    node_z = node_y("Identity", "x").replace("'y'", "'z'")
    for name, signatures in {"model": signature("serving_default", "y"), "both": signature("a", "z") + signature("b", "y")}.items():
        (s / name).mkdir()
        (s / name / "saved_model.pbtxt").write_text(saved.format(graph=NODE_X + node_y("Neg", "x") + node_z, signatures=signatures))
    (s / "long.pbtxt").write_text("node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { "
                                  "dtype: DT_FLOAT tensor_shape { dim { size: 1000 } } float_val: 0 } } } }\n")
    (s / "binary.txt").write_bytes(bytes(range(256)) * 40)
    (s / "binary.pb").write_bytes(bytes(range(256)) * 40)
    (s / "empty").mkdir()
    (s / "run").mkdir()
    (s / "wrong").mkdir()
    harness.names |= {"dir": str(s / "run"), "good": str(s / "run/model.ckpt-7")}
    subprocess.run([ckpt_tool, "write", harness.names["good"], "1"], check=True, timeout=30)
    subprocess.run([ckpt_tool, "write", str(s / "wrong/model.ckpt-7"), "1"], check=True, timeout=30)
    names = harness.run("ckpt ls {good} --json").stdout
    harness.names["tensor"] = next(t["name"] for t in json.loads(names)["tensors"] if t["bytes"] > 0)
    index = pathlib.Path(harness.names["good"] + ".index").read_bytes()
    data = pathlib.Path(harness.names["good"] + ".data-00000-of-00001").read_bytes()

    def damaged(name, new_index, new_data):
        (s / f"{name}.index").write_bytes(new_index)
        if new_data is not None:
            (s / f"{name}.data-00000-of-00001").write_bytes(new_data)

    def flip(data, at):
        return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1:]

    damaged("flipped_data", index, bytes(b ^ 1 for b in data))
    damaged("flipped_index", flip(index, len(index) // 3), data)
    damaged("short_data", index, data[:-1])
    damaged("no_data", index, None)
    damaged("empty_index", b"", data)
    damaged("garbage_index", bytes(range(256)) * 40, data)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--ckpt-tool", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        harness = Harness(os.path.abspath(args.program), pathlib.Path(scratch))
        make_files(harness, args.ckpt_tool)
        for words, code, texts in BAD:
            harness.expect_error(words, code, texts)
        for words, code, _ in BAD:
            if code in (3, 6) and not words.startswith(("graph dot", "launch")):
                harness.expect_json_error(words, code)
        for words, text in GOOD:
            harness.expect_good(words, text)
        for words in ("version", "doctor", "devices --emulate 1", "graph show {s}/good.txt", "ckpt ls {dir}",
                      "ckpt ls {good}", "ckpt verify {dir}", "ckpt cat {good} {tensor}", "ckpt diff {good} {good}"):
            harness.expect_good_json(words)
        tried, prose = harness.try_advice()
        if tried < 40:
            harness.failures.append(f"only {tried} commands that errors advise were found")
        print("\n\n".join(harness.failures) or
              f"cli: {harness.count} invocations, all as stated; {tried} commands that errors advise, all understood; {prose} in prose")
        return bool(harness.failures)


if __name__ == "__main__":
    sys.exit(main())
