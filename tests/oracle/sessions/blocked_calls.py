"""300 blocked dequeues at once, of a server that may have few threads: it goes on, and serves others once they are over.

    blocked_calls.py ARGOSY

Limits of threads hold for users other than root: the server runs as "nobody", which root alone can start.
"""
import collections
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
NOBODY, CALLS = 65534, 300


def start(program, threads):
    def become_nobody():
        resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    command = [program, "serve", "--port", "0", "--json", "--any-local-user"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
                              preexec_fn=become_nobody if threads else None)
    return server, f"grpc://localhost:{json.loads(server.stdout.readline())['port']}"


def ended(call):
    """How a call ended: "ok" or the error's name."""
    try:
        call()
        return "ok"
    except tf.errors.OpError as error:
        return type(error).__name__


def block(target):
    """The server's threads are all taken; then the session that did it closes, and another one computes."""
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, tf.float32)
        taken, put = queue.dequeue(), queue.enqueue(1.)
        session, got = tf.Session(target), collections.Counter()
        threads = [threading.Thread(target=lambda: got.update([ended(lambda: session.run(taken))])) for _ in range(CALLS)]
        for t in threads:
            t.start()
        time.sleep(4)
        ended(lambda: session.run(put))
        session.close()
        for t in threads:
            t.join(60)
        if any(t.is_alive() for t in threads):
            raise AssertionError(f"{sum(t.is_alive() for t in threads)} calls never ended")
    return got


def computes(target):
    with tf.Graph().as_default(), tf.Session(target) as session:
        return session.run(tf.constant(1.) + 1)


def main():
    program = os.path.abspath(sys.argv[1])
    limits = [0, 60, 30] if os.geteuid() == 0 else [0]
    if len(limits) == 1:
        print("not tried under a limit of threads: that takes root")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(program, folder)  # where nobody may read it
        os.chmod(copy, 0o755)
        for limit in limits:
            server, target = start(copy, limit)
            try:
                got = block(target)
                time.sleep(1)
                value = computes(target)
                server.send_signal(signal.SIGTERM)
                code = server.wait(30)
                # gRPC's own shutdown may wait for a thread that it could not have: then the server's bound of 10 s holds.
                good = value == 2 and code in ((0, 1) if limit else (0,))
            except Exception as error:
                server.kill()
                got, good, code = f"{type(error).__name__}: {str(error)[:200]}", False, server.wait()
            failures += not good
            print(f"{'at most ' + str(limit) if limit else 'any number of'} threads: {got if isinstance(got, str) else dict(got)}, "
                  f"exit code {code}{'' if good else '  <- BAD: ' + server.stderr.read()[-300:]}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
