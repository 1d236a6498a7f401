"""Attacks on the session server's port, each with a bound in count and time, and what an honest client and the
server's memory feel of them. Everything stays on loopback; other hosts are 127.0.0.2 and so on.

    python3 tests/attacks/attacks.py --program build/release/bin/argosy [--only NAME] [--full]
"""
import argparse
import os
import socket
import struct
import sys
import time

import http2
from http2 import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RESET, SETTINGS, WINDOW, frame)
from server import HonestClient, Server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jobs"))
from own_address import own_address  # noqa: E402

MIB_LIMIT = 64
STRANGER = "127.0.0.2"  # another host, as the server's options have it


def send_all(s, data):
    """As much as the other side takes within a few seconds. Returns whether it took all of it."""
    try:
        s.sendall(data)
        return True
    except OSError:
        return False


def answers(s):
    """Whether the other side is still there once it has read what was sent."""
    s.settimeout(3)
    try:
        s.sendall(frame(PING, 0, 0, b"are you?"))
        reader = http2.FrameReader(s)
        while True:
            kind, flags, _, payload = reader.next()
            if kind == PING and flags & ACK and payload == b"are you?":
                return True
            if kind == http2.GOAWAY:
                return False
    except (OSError, http2.Closed):
        return False


def rapid_resets(server, full):
    """100,000 calls, each taken back at once, in as few bytes as that takes."""
    count = 100000 if full else 50000
    text = [http2.PREFACE, frame(SETTINGS), frame(HEADERS, END_HEADERS, 1, http2.request_headers(http2.RUN_STEP, True)),
            frame(RESET, 0, 1, struct.pack(">I", 8))]
    for stream in range(3, 2 * count, 2):
        text += [frame(HEADERS, END_HEADERS, stream, http2.again()),
                 frame(DATA, END_STREAM, stream, http2.message(b"\x0a\x01x")),
                 frame(RESET, 0, stream, struct.pack(">I", 8))]
    text = b"".join(text)
    rounds = cut = 0
    end = time.time() + (30 if full else 6)
    while time.time() < end and rounds < (20 if full else 4):
        rounds += 1
        try:
            s = http2.connect(server.port, STRANGER)
            if not send_all(s, text) or not answers(s):
                cut += 1
            s.close()
        except OSError:
            cut += 1
        time.sleep(0.3)
    return f"{rounds} times {count} resets, {cut} times cut off"


def headers_without_end(server, full):
    """One block of headers that goes on and on."""
    taken = 0
    for _ in range(20 if full else 4):
        try:
            s = http2.connect(server.port, STRANGER)
            http2.hello(s)
            part = b"\x00" + b"\x7f\x80\x7f" + b"a" * 16255 + b"\x01b"
            s.sendall(frame(HEADERS, 0, 1, http2.request_headers(http2.RUN_STEP)))
            for _ in range(2000):
                s.sendall(frame(CONTINUATION, 0, 1, part[:16384]))
                taken += len(part)
        except OSError:
            pass
        s.close()
    return f"{taken >> 20} MiB taken"


def slow_connections(server, full):
    """Many connections that send a byte a second."""
    sockets, refused = [], 0
    text = http2.PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, http2.request_headers(http2.RUN_STEP))
    for _ in range(2000 if full else 300):
        try:
            s = http2.connect(server.port, STRANGER)
            s.setblocking(False)
            sockets.append(s)
        except OSError:
            refused += 1
    for second in range(30 if full else 4):
        for s in sockets:
            try:
                s.send(text[second:second + 1])
            except OSError:
                pass
        time.sleep(1)
    open_ = 0
    for s in sockets:
        try:
            open_ += 1 if s.recv(1000) else 0
        except BlockingIOError:
            open_ += 1
        except OSError:
            pass
        s.close()
    return f"{len(sockets)} connections, {open_} open at the end, {refused} refused"


def length_that_lies(server, full):
    """Messages that say they have 2^32 - 1 bytes, and one byte."""
    for _ in range(200 if full else 50):
        try:
            s = http2.connect(server.port, STRANGER)
            http2.hello(s)
            for i in range(1, 41, 2):
                s.sendall(frame(HEADERS, END_HEADERS, i, http2.request_headers(http2.RUN_STEP))
                          + frame(DATA, 0, i, http2.message(b"x", 2**32 - 1)))
            s.close()
        except OSError:
            pass
    return ""


def unfinished_messages(server, full):
    """Large messages, as fast as the server makes room for them, never the last byte."""
    open_, taken, cut = [], 0, 0
    most = (2 << 30) if full else (256 << 20)
    end = time.time() + (30 if full else 8)
    while time.time() < end and taken < most:
        while len(open_) < 8:
            try:
                s = http2.connect(server.port, STRANGER, timeout=2)
                http2.hello(s, struct.pack(">HI", 4, 1 << 20))
                s.sendall(frame(HEADERS, END_HEADERS, 1, http2.request_headers(http2.RUN_STEP))
                          + frame(DATA, 0, 1, http2.message(b"", 12 << 20)))
                open_.append(http2.Upload(s))
            except OSError:
                cut += 1
                time.sleep(0.1)
                if time.time() > end:
                    break
        for one in list(open_):
            try:
                taken += one.send_some()
            except (OSError, http2.Closed):
                cut += 1
                open_.remove(one)
    peak = server.rss_mib()
    for one in open_:
        one.s.close()
    return f"{taken >> 20} MiB taken, {cut} times cut off, {peak:.0f} MiB held"


def pings(server, full):
    """Pings and settings, as fast as they go."""
    sent = cut = 0
    burst = (frame(PING, 0, 0, b"12345678") + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535))) * 500
    end = time.time() + (20 if full else 5)
    while time.time() < end:
        try:
            s = http2.connect(server.port, STRANGER, timeout=2)
            http2.hello(s)
            for _ in range(1000):
                s.sendall(burst)
                sent += 1000
        except OSError:
            cut += 1
        s.close()
        time.sleep(0.05)
    return f"{sent} sent, {cut} times cut off"


def settings_unread(server, full):
    """Pings whose answers nobody reads."""
    sockets, taken = [], 0
    for _ in range(50 if full else 10):
        try:
            s = http2.connect(server.port, STRANGER, timeout=0.5)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            http2.hello(s)
            sockets.append(s)
            for _ in range(40):
                s.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)) * 5000)
                taken += 5000
        except OSError:
            pass
    for s in sockets:
        s.close()
    return f"{taken} frames taken"


def shut_out(server, full):
    """Whole messages from addresses that may not connect, and from another user."""
    own = own_address()
    taken = told = 0
    for _ in range(200 if full else 50):
        s = None
        try:
            s = http2.connect(server.port, host=own, timeout=1)
            http2.hello(s)
            for _ in range(1000):
                s.sendall(frame(DATA, 0, 1, b"x" * 16384))
                taken += 16384
        except OSError:
            pass
        if s:
            try:
                told += b"not let in" in s.recv(4096)
            except OSError:
                pass
            s.close()
    return f"{taken >> 10} KiB sent, {told} of them told why"


def descriptors_run_out(server, full):
    """More connections than the server has descriptors, held for a while, then all closed."""
    sockets = []
    for _ in range(400):
        try:
            sockets.append(http2.connect(server.port, STRANGER, timeout=0.5))
        except OSError:
            break
    time.sleep(1)
    cpu = server.cpu_seconds()
    time.sleep(1)
    cpu = server.cpu_seconds() - cpu
    for s in sockets:
        s.close()
    begin = time.time()
    while time.time() < begin + 10:
        try:
            client = http2.Honest(server.port)
            client.call()
            client.close()
            break
        except (OSError, http2.Closed):
            time.sleep(0.02)
    else:
        raise AssertionError("nobody is let in any more")
    return f"{len(sockets)} connections; busy {cpu:.2f} of 1 s; let in again after {time.time() - begin:.2f} s"


def field(number, data):
    """One field of a protobuf message: bytes of fewer than 2^14."""
    data = data.encode() if isinstance(data, str) else data
    size = len(data)
    return bytes([number << 3 | 2]) + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + data


def call_frames(stream, method, body):
    headers = http2.request_headers("/tensorflow.MasterService/" + method)
    return frame(HEADERS, END_HEADERS, stream, headers) + frame(DATA, END_STREAM, stream, http2.message(body))


def creators_that_vanish(server, full):
    """Clients that ask for a session and are gone 0 to 19 ms later: what was made for them ends with their lease.

    A client that leaves at once resets its connection, mostly before the server has read the request.
    """
    node = b"".join(field(1, field(1, f"n{i}") + field(2, "NoOp")) for i in range(400))
    count = 200 if full else 50
    others = server.metrics()["argosy_sessions"]
    # In a soak, sessions of other clients come and go, and leases last 20 s.
    left, seconds = (others + 4, 40) if others else (0, 10)
    for i in range(count):
        s = http2.connect(server.port)
        http2.hello(s)
        s.sendall(call_frames(1, "CreateSession", field(1, node)))
        time.sleep(i % 20 / 1000)
        s.close()
    begin = time.time()
    while (made := server.metrics()['argosy_rpcs_total{method="CreateSession"}']) < count // 4:
        assert time.time() < begin + 10, f"{made:.0f} of {count} requests came"
        time.sleep(0.2)
    begin = time.time()
    while server.metrics()["argosy_sessions"] > left:
        assert time.time() < begin + seconds, "sessions of clients that are gone stay"
        time.sleep(0.2)
    return f"{made:.0f} of {count} requests came"


def stopped_client(server, full):
    """A client that is stopped while its call is under way (^Z, a debugger): on this machine it is waited for."""
    s = http2.connect(server.port)
    http2.hello(s)
    s.sendall(frame(HEADERS, END_HEADERS, 1, http2.request_headers(http2.RUN_STEP))
              + frame(DATA, 0, 1, http2.message(b"x", 100)))
    time.sleep(40 if full else 0)
    assert answers(s), "its connection was cut"
    s.close()
    return "" if full else "in the long form only"


# name, attack, options of the server, descriptors of the server
OPEN = ["--host", "0.0.0.0", "--insecure-tf-clients", STRANGER]
ATTACKS = [
    (rapid_resets, OPEN, None),
    (headers_without_end, OPEN, None),
    (slow_connections, OPEN, None),
    (length_that_lies, OPEN, None),
    (unfinished_messages, OPEN + ["--max-unfinished-mib", "16"], None),
    (pings, OPEN, None),
    (settings_unread, OPEN, None),
    (shut_out, OPEN, None),
    (descriptors_run_out, OPEN + ["--max-connections", "4096", "--max-connections-per-peer", "4096"], 300),
    (creators_that_vanish, ["--client-lease", "1"], None),
    (stopped_client, [], None),
]


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--program", required=True)
    args.add_argument("--only")
    args.add_argument("--full", action="store_true", default=bool(os.environ.get("ARGOSY_LONG")))
    args.add_argument("--strict", action="store_true", help="an honest client's p99 at most doubles, however short")
    args = args.parse_args()
    failures = 0
    print(f"{'attack':24} {'p99 quiet':>10} {'p99':>8} {'failed':>6} {'peak +MiB':>9} {'end +MiB':>9}")
    for attack, options, descriptors in ATTACKS:
        if args.only and args.only != attack.__name__:
            continue
        with Server(args.program, *options, descriptors=descriptors) as server:
            with HonestClient(server.port) as quiet:
                time.sleep(2)
            before = server.rss_mib()
            server.reset_peak()
            with HonestClient(server.port) as during:
                begin = time.time()
                what = attack(server, args.full)
                time.sleep(max(0.2, begin + 2 - time.time()))
            peak, after = server.peak_mib() - before, server.rss_mib() - before
            alive = server.alive()
            client = http2.Honest(server.port)
            client.call()
        # Two times what it was; a busy machine takes its slices of some milliseconds from everybody.
        slow = during.quantile(.99) > max(2 * quiet.quantile(.99), 0 if args.strict else 15)
        bad = peak > MIB_LIMIT or not alive or slow or during.failed
        failures += bool(bad)
        print(f"{attack.__name__:24} {quiet.quantile(.99):7.2f} ms {during.quantile(.99):5.2f} ms {during.failed:6} "
              f"{peak:9.1f} {after:9.1f}  {what}{'  <- BAD' if bad else ''}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
