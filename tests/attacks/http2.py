"""Just enough HTTP/2 and gRPC on a plain socket: an honest call, and frames that no honest client would send."""
import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
HEALTH = "/grpc.health.v1.Health/Check"
RUN_STEP = "/tensorflow.MasterService/RunStep"


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _text(text):
    raw = text.encode()
    assert len(raw) < 127
    return bytes([len(raw)]) + raw


def request_headers(path, indexed=False):
    """indexed: the literals go into the table, so that `again()` says the same in few bytes."""
    kind = 0x40 if indexed else 0
    block = b"\x83\x86" + bytes([kind | 4]) + _text(path) + bytes([kind | 1]) + _text("localhost")
    for name, value in (("content-type", "application/grpc"), ("te", "trailers")):
        block += bytes([kind]) + _text(name) + _text(value)
    return block


def again():
    """The same headers once more, all from the table: the last that was added has the number 62."""
    return b"\x83\x86\xc1\xc0\xbf\xbe"


def message(body=b"", length=None):
    return b"\0" + struct.pack(">I", len(body) if length is None else length) + body


def connect(port, source=None, host="127.0.0.1", timeout=5):
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.settimeout(timeout)
    if source:
        s.bind((source, 0))
    s.connect((host, port))
    return s


def hello(s, settings=b""):
    s.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))


class Closed(Exception):
    pass


class FrameReader:
    def __init__(self, s):
        self.s, self.buffer = s, b""

    def _exactly(self, n):
        while len(self.buffer) < n:
            more = self.s.recv(65536)
            if not more:
                raise Closed()
            self.buffer += more
        taken, self.buffer = self.buffer[:n], self.buffer[n:]
        return taken

    def next(self):
        head = self._exactly(9)
        length = int.from_bytes(head[:3], "big")
        return head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, self._exactly(length)


class Upload:
    """A large message on stream 1, of which some is sent already, sent as the other side makes room."""

    def __init__(self, s):
        self.s, self.window, self.of_all, self.buffer = s, 65535 - 5, 65535 - 5, b""
        self.largest = 16384
        s.settimeout(0)

    def _look(self):
        try:
            more = self.s.recv(65536)
            if not more:
                raise Closed()
            self.buffer += more
        except BlockingIOError:
            pass
        while len(self.buffer) >= 9:
            length = int.from_bytes(self.buffer[:3], "big")
            if len(self.buffer) < 9 + length:
                return
            kind, flags, stream = self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big")
            payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
            if kind == WINDOW and stream == 0:
                self.of_all += int.from_bytes(payload, "big")
            elif kind == WINDOW:
                self.window += int.from_bytes(payload, "big")
            elif kind == SETTINGS and not flags & ACK:
                for at in range(0, length, 6):
                    key, value = struct.unpack(">HI", payload[at:at + 6])
                    if key == 4:
                        self.window += value - 65535
                self._send(frame(SETTINGS, ACK))
            elif kind == PING and not flags & ACK:
                self._send(frame(PING, ACK, 0, payload))
            elif kind in (GOAWAY, RESET):
                raise Closed()

    def _send(self, data):
        self.s.settimeout(2)
        self.s.sendall(data)
        self.s.settimeout(0)

    def send_some(self):
        """Bytes that went."""
        self._look()
        n = min(self.window, self.of_all, 1 << 20)
        if n <= 0:
            time.sleep(0.001)
            return 0
        self.window -= n
        self.of_all -= n
        self._send(b"".join(frame(DATA, 0, 1, b"x" * min(self.largest, n - at)) for at in range(0, n, self.largest)))
        return n


class Honest:
    """A client of one connection: unary calls, one after the other."""

    def __init__(self, port, source=None):
        self.s = connect(port, source)
        hello(self.s)
        self.reader, self.stream = FrameReader(self.s), 1

    def call(self, path=HEALTH, body=b""):
        """Seconds that it took."""
        begin = time.perf_counter()
        mine, self.stream = self.stream, self.stream + 2
        self.s.sendall(frame(HEADERS, END_HEADERS, mine, request_headers(path))
                       + frame(DATA, END_STREAM, mine, message(body)))
        while True:
            kind, flags, stream, payload = self.reader.next()
            if kind == SETTINGS and not flags & ACK:
                self.s.sendall(frame(SETTINGS, ACK))
            elif kind == PING and not flags & ACK:
                self.s.sendall(frame(PING, ACK, 0, payload))
            elif kind == GOAWAY:
                raise Closed(payload[8:].decode(errors="replace"))
            elif kind == DATA and payload:
                self.s.sendall(frame(WINDOW, 0, 0, struct.pack(">I", len(payload))))
            if stream == mine and (kind == RESET or (kind in (HEADERS, DATA) and flags & END_STREAM)):
                return time.perf_counter() - begin

    def close(self):
        self.s.close()
