#!/usr/bin/env python3
"""What only shows after a while: a session server that many stock clients come to and leave, properly or killed.

    long_runs.py PROGRAM [--cycles 10000] [--killed 1000] [--stalled 4] [--tolerance 0.01]

Resident memory, descriptors and threads of the server after the last client are held against those after the first
quarter of them: they may differ by the tolerance. A step of a client that was killed must end, and its session with its lease.
"""
import argparse
import os
import select
import signal
import sys
import time

from session_server import Server, check, failures, fresh, tf, tf1

AT_ONCE = 10


def settled(server):
    """What the server holds once it is quiet: memory goes back when sessions are closed."""
    deadline = time.time() + 30
    while server.metric("argosy_sessions") > 0 and time.time() < deadline:
        time.sleep(0.2)
    check("sessions left", server.metric("argosy_sessions") == 0, server.page("/statusz"))
    time.sleep(1)
    return server.resources()


def compare(what, count, before, after, tolerance):
    grown = [(b - a) / a for a, b in zip(before, after)]
    print(f"{count} {what}: resident KiB, descriptors, threads "
          f"{before[0] // 1024}, {before[1]}, {before[2]} -> {after[0] // 1024}, {after[1]}, {after[2]} "
          f"({', '.join(f'{g:+.2%}' for g in grown)})", flush=True)
    check(f"memory of {what}", grown[0] <= tolerance, f"{before} -> {after}")
    # One poller more or less is traffic, not a leak.
    check(f"descriptors of {what}", after[1] - before[1] <= max(2, tolerance * before[1]), f"{before} -> {after}")
    check(f"threads of {what}", after[2] - before[2] <= max(2, tolerance * before[2]), f"{before} -> {after}")


class LoopingClient:
    """A process of its own whose step loops for ever. It is forked before this process has made any session, since neither
    TensorFlow nor gRPC survive a fork later."""

    def __init__(self, target, loop, again):
        self.ready, writes = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.ready)
                session = tf1.Session(target)
                session.run(loop, {again: False})
                os.write(writes, b"!")
                session.run(loop, {again: True})
            finally:
                os._exit(1)
        os.close(writes)

    def wait_until_it_runs(self):
        came = select.select([self.ready], [], [], 60)[0] and os.read(self.ready, 1)
        check("client", came == b"!", "it did not begin")
        os.close(self.ready)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def killed_clients(server, count, tolerance):
    fresh()
    tf1.disable_control_flow_v2()
    again = tf1.placeholder(tf.bool, [])
    loop = tf1.while_loop(lambda i: again, lambda i: i + 1, [0])
    cancelled = 'argosy_errors_total{code="CANCELLED"}'
    before, slowest = None, 0.0
    for done in range(0, count, AT_ONCE):
        if before is None and done >= count // 4:
            before = settled(server)
        if done % max(AT_ONCE, count // 10 // AT_ONCE * AT_ONCE) == 0:
            print(f"  {done} killed: {settled(server)}", flush=True)
        clients = [LoopingClient(server.target, loop, again) for _ in range(AT_ONCE)]
        for client in clients:
            client.wait_until_it_runs()
        time.sleep(0.1)  # until their steps are under way
        ended = server.metric(cancelled)
        for client in clients:
            client.kill()
        begin = time.time()
        while server.metric(cancelled) < ended + AT_ONCE and time.time() < begin + 10:
            time.sleep(0.02)
        slowest = max(slowest, time.time() - begin)
    check("steps of killed clients", slowest < 5, f"one ran on for {slowest:.1f} s")
    compare("clients killed in a step", count, before, settled(server), tolerance)
    print(f"their steps ended within {slowest:.2f} s", flush=True)


def stalled_clients(server, count):
    """Clients whose machine hangs while they are sent much: each holds what it fetched and no more, nobody else waits, and
    what they held comes back once they have not answered for half a minute."""
    fresh()
    mebibytes = 64
    x = tf1.placeholder(tf.float32, [])
    large = tf.fill([mebibytes << 18], x)
    small = x + 1.0
    before = settled(server)
    clients = []
    for _ in range(count):
        ready, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                session = tf1.Session(server.target)
                session.run(small, {x: 1.0})
                os.write(writes, b"!")
                while True:
                    session.run(large, {x: 1.0})
            finally:
                os._exit(1)
        clients.append(pid)
        check("client", select.select([ready], [], [], 60)[0], "it did not begin")
        os.close(ready)
        os.close(writes)
    time.sleep(1)
    for pid in clients:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2)
    held = server.resources()
    grown = (held[0] - before[0]) / (count * mebibytes << 20)
    check("memory of stalled clients", grown < 2, f"{grown:.2f} of what they fetched")
    # They have not died: only their silence ends it.
    limit = before[0] + (count * mebibytes << 20) // 4
    begin = time.time()
    while server.resources()[0] > limit and time.time() < begin + 90:
        time.sleep(0.5)
    took = time.time() - begin
    check("stalled clients let go", took < 90, f"{before} -> {server.resources()}")
    check("sessions of stalled clients", server.metric("argosy_sessions") == 0, server.page("/statusz"))
    for pid in clients:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    print(f"{count} clients stopped in a fetch of {mebibytes} MiB: {grown:.2f} of it held, let go after {took:.0f} s; "
          f"resident KiB {before[0] // 1024} -> {held[0] // 1024} -> {settled(server)[0] // 1024}", flush=True)


def cycles(server, count, tolerance):
    fresh()
    x = tf1.placeholder(tf.float32, name="x")
    y = tf.add(x, 1.0)
    z = tf.matmul(tf.ones([20, 20]), tf.fill([20, 20], y))
    before, begin = None, time.time()
    for done in range(count):
        if before is None and done >= count // 4:
            before = settled(server)
        with tf1.Session(server.target) as session:
            session.run([y, z], {x: 1.0})
    compare("cycles of create, run, close", count, before, settled(server), tolerance)
    print(f"{(time.time() - begin) / count * 1e3:.1f} ms each", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--cycles", type=int, default=10_000)
    parser.add_argument("--killed", type=int, default=1000)
    parser.add_argument("--stalled", type=int, default=4)
    parser.add_argument("--tolerance", type=float, default=0.01)
    args = parser.parse_args()
    server = Server(args.program, "--session-lease", "3")
    try:
        if args.killed > 0:
            killed_clients(server, args.killed, args.tolerance)
        if args.stalled > 0:
            stalled_clients(server, args.stalled)
        if args.cycles > 0:
            cycles(server, args.cycles, args.tolerance)
        server.stop()
    finally:
        server.process.kill()
    print("long runs:", f"{len(failures)} failures: {failures}" if failures else "flat")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
