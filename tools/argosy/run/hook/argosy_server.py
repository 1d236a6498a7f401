"""tf.train.Server of a program under `argosy run`: a server of Argosy's.

* The task that `argosy run --cluster` is told (or TF_CONFIG names) is served by `argosy run` itself.
* So is create_local_server(), whose job is "localhost", where `argosy run` is no task of a cluster.
* Of any other task an `argosy serve --cluster ...` is started, which ends with the program. Port 0 is any free port of
  this host.
* Such a server calls functions of this program (argosy_py_func.py): it is told their folder.
* join() ends with the job, not never: when every task of the other jobs was there, and all are gone at one time.
* Its config is that of every session that names its target, where the session's own says nothing.

Python 2.7 and 3.
"""
import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time

_HERE = os.path.dirname(os.path.abspath(__file__))
_BETWEEN_LOOKS = 0.25
_GONE_FOR = 3.0  # seconds: a task that is started again is back before
_PORT_TAKEN = 3  # an exit code of `argosy serve`


def _spec(server_def):
    """{"ps": {"0": "host:port"}} of a ServerDef."""
    return dict((job.name, dict((str(task), address) for task, address in job.tasks.items()))
                for job in server_def.cluster.job)


def _same(text, spec, job, task):
    """Is this the task that `argosy run` serves?"""
    if not text:
        return False
    own = json.loads(text)
    jobs = dict((name, tasks if isinstance(tasks, dict) else dict((str(i), a) for i, a in enumerate(tasks)))
                for name, tasks in own["cluster"].items())
    return jobs == spec and own["job"] == job and own["task"] == task


def _is_there(address):
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=1.0).close()
        return True
    except (OSError, socket.error, ValueError):
        return False


def _prctl():
    try:
        import ctypes

        return ctypes.CDLL(None).prctl
    except Exception:
        return None


_PRCTL = _prctl()


def _ends_with_us():
    if _PRCTL is not None:
        _PRCTL(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _has_certificates():
    """Do servers of this program, and that of `argosy run` as a task of a cluster, ask for certificates?"""
    return "--tls-cert" in json.loads(os.environ.get("ARGOSY_SERVE", "[]"))


_certified = set()  # targets that let nobody in without a certificate


def check_target(target, own):
    """`own`: the target of `argosy run` itself."""
    served = target == own and os.environ.get("ARGOSY_CLUSTER_TASK")
    if _has_certificates() and (served or target in _certified):
        raise RuntimeError(
            "argosy run: the server at %s wants a certificate, and TensorFlow's client has none to show: it would wait for ever\n"
            "  try    --insecure-cluster NET, a network that you trust, in place of --tls-cert, --tls-key and --tls-ca" % target)


def _tell(job, task, address):
    """For the report of `argosy run`."""
    try:
        with open(os.path.join(_HERE, "served"), "a") as file:
            file.write("/job:%s/task:%d at %s\n" % (job, task, address))
    except (IOError, OSError):
        pass


def _started(command):
    """A process that ends with this one. It ends with the thread that starts it, too: so one is kept for it."""
    made, ready = [], threading.Event()

    def start():
        try:
            made.append(subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=_ends_with_us,
                                         env=dict(os.environ, ARGOSY_PY_FUNC_FOLDER=_HERE)))
        except Exception as error:
            made.append(error)
        ready.set()
        if not isinstance(made[0], Exception):
            made[0].wait()

    thread = threading.Thread(target=start)
    thread.daemon = True
    thread.start()
    ready.wait()
    if isinstance(made[0], Exception):
        raise made[0]
    return made[0]


class _NotStarted(RuntimeError):
    def __init__(self, job, task, child):
        super(_NotStarted, self).__init__(
            "argosy serve for /job:%s/task:%d did not start (its message is above)" % (job, task))
        self.code = child.wait()


def _serve(spec, job, task, command):
    child = _started(command + ["--cluster", json.dumps(spec), "--job", job, "--task", str(task)])
    line = child.stdout.readline().decode()
    if not line.startswith("serving "):
        raise _NotStarted(job, task, child)
    if _PRCTL is None:
        # Python closes its sessions after this, and waits for a server that is gone.
        atexit.register(_stop, child)
    _tell(job, task, spec[job][str(task)])
    return line.split()[1]


def _serve_cluster(spec, job, task):
    target = _serve(spec, job, task, json.loads(os.environ["ARGOSY_SERVE"]))
    if _has_certificates():
        _certified.add(target)
    return target


def _serve_here(spec, job, task):
    """A task whose port is any free one: for this program alone, on loopback. Nobody needs a certificate there."""
    words = iter(json.loads(os.environ["ARGOSY_SERVE"]))
    command = []
    for word in words:
        if word.startswith("--tls-"):
            next(words)
        else:
            command.append(word)
    for tries in (2, 1, 0):
        placed = dict((name, dict(tasks)) for name, tasks in spec.items())
        placed[job][str(task)] = "localhost:%d" % _free_port()
        try:
            return _serve(placed, job, task, command)
        except _NotStarted as error:  # another process may have taken the port meanwhile
            if tries == 0 or error.code != _PORT_TAKEN:
                raise


def _free_port():
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        return any_socket.getsockname()[1]


def _stop(child):
    if child.poll() is None:
        child.terminate()
        child.wait()


def wait_for_the_end(spec, job):
    """Returns when every task of the other jobs was there, and all are gone at one time. Of a cluster of one job: never.
    A task that comes back, however late, is waited for as long as another is there."""
    others = [address for name, tasks in spec.items() if name != job for address in tasks.values()]
    seen, last_seen = set(), time.time()
    while True:
        begin = time.time()  # a look at a host that is switched off takes a second
        there = [address for address in others if _is_there(address)]
        seen.update(there)
        if there:
            last_seen = time.time()
        elif others and len(seen) == len(others) and begin - last_seen >= _GONE_FOR:
            return
        time.sleep(_BETWEEN_LOOKS)


_configs = {}  # by target: the server's config


def serves(target, own):
    """Is this target, text or bytes, a server of this program's? `own`: the target of `argosy run` itself."""
    text = target if isinstance(target, str) else target.decode()
    return text == own or text in _configs


def with_servers_config(target, config):
    """TensorFlow's servers merge a session's config into their own; ours are told both by the session."""
    servers = _configs.get(target)
    if servers is None or not servers.ListFields():
        return config
    both = type(servers)()
    both.CopyFrom(servers)
    if config is not None:
        both.MergeFrom(config)
    return both


def patch(module, target):
    """`module`: tensorflow.python.training.server_lib."""
    server = module.Server

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
        self._server_def = module._make_server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        self._spec = _spec(self._server_def)
        self._argosy_target = None
        if start:
            self.start()

    def start(self):
        if self._argosy_target is not None:
            return
        job, task = self._server_def.job_name, self._server_def.task_index
        anywhere = self._spec.get(job, {}).get(str(task), "").endswith(":0")
        alone = (list(self._spec), job, task) == (["localhost"], "localhost", 0) and "ARGOSY_CLUSTER_TASK" not in os.environ
        if anywhere and alone:
            self._argosy_target = target  # create_local_server(): devices have its names
        elif anywhere:
            self._argosy_target = _serve_here(self._spec, job, task)
        elif _same(os.environ.get("ARGOSY_CLUSTER_TASK"), self._spec, job, task):
            self._argosy_target = target
        else:
            self._argosy_target = _serve_cluster(self._spec, job, task)
        _configs[self._argosy_target] = self._server_def.default_session_config

    def join(self):
        wait_for_the_end(self._spec, self._server_def.job_name)

    server.__init__, server.start, server.join = __init__, start, join
    if hasattr(server, "__del__"):
        server.__del__ = lambda self: None
    server.server_def = property(lambda self: self._server_def)
    server.target = property(lambda self: self._argosy_target)
