"""tf.train.Server of a program under `argosy run`: a server of Argosy's.

* The task that `argosy run --cluster` is told (or TF_CONFIG names) is served by `argosy run` itself.
* Of any other task an `argosy serve --cluster ...` is started, which ends with the program.
* join() ends with the job, not never: when every task of the other jobs was there, and all are gone at one time.
* Its config is that of every session that names its target, where the session's own says nothing.

Python 2.7 and 3.
"""
import atexit
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
            made.append(subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=_ends_with_us))
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


def _serve(spec, job, task):
    command = json.loads(os.environ["ARGOSY_SERVE"])
    command += ["--cluster", json.dumps(spec), "--job", job, "--task", str(task)]
    child = _started(command)
    line = child.stdout.readline().decode()
    if not line.startswith("serving "):
        raise RuntimeError("argosy serve for /job:%s/task:%d did not start (its message is above)" % (job, task))
    if _PRCTL is None:
        # Python closes its sessions after this, and waits for a server that is gone.
        atexit.register(_stop, child)
    target = line.split()[1]
    if _has_certificates():
        _certified.add(target)
    _tell(job, task, spec[job][str(task)])
    return target


def _stop(child):
    if child.poll() is None:
        child.terminate()
        child.wait()


def wait_for_the_end(spec, job):
    """Returns when every task of the other jobs was there, and all are gone at one time. Of a cluster of one job: never.
    A task that comes back, however late, is waited for as long as another is there."""
    others = [address for name, tasks in spec.items() if name != job for address in tasks.values()]
    last_seen = {}
    while True:
        for address in others:
            if _is_there(address):
                last_seen[address] = time.time()
        if others and len(last_seen) == len(others) and time.time() - max(last_seen.values()) >= _GONE_FOR:
            return
        time.sleep(_BETWEEN_LOOKS)


_configs = {}  # by target: the server's config


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
        address = self._spec.get(job, {}).get(str(task), "")
        local = len(self._spec) == 1 and address.endswith(":0")  # create_local_server(): a server alone
        if local or _same(os.environ.get("ARGOSY_CLUSTER_TASK"), self._spec, job, task):
            self._argosy_target = target
        else:
            self._argosy_target = _serve(self._spec, job, task)
        _configs[self._argosy_target] = self._server_def.default_session_config

    def join(self):
        wait_for_the_end(self._spec, self._server_def.job_name)

    server.__init__, server.start, server.join = __init__, start, join
    if hasattr(server, "__del__"):
        server.__del__ = lambda self: None
    server.server_def = property(lambda self: self._server_def)
    server.target = property(lambda self: self._argosy_target)
