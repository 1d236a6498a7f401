"""tf.train.Server of a program under `argosy run`: a server of Argosy's.

* The task that `argosy run --cluster` is told (or TF_CONFIG names) is served by `argosy run` itself.
* Of any other task an `argosy serve --cluster ...` is started, which ends with the program.
* join() ends with the job, not never: when every task of the other jobs was there and has gone.

Python 2.7 and 3.
"""
import atexit
import json
import os
import signal
import socket
import subprocess
import time

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


def _serve(spec, job, task):
    command = json.loads(os.environ["ARGOSY_SERVE"])
    command += ["--cluster", json.dumps(spec), "--job", job, "--task", str(task)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=_ends_with_us)
    line = child.stdout.readline().decode()
    if not line.startswith("serving "):
        raise RuntimeError("argosy serve for /job:%s/task:%d did not start (its message is above)" % (job, task))
    if _PRCTL is None:
        # Python closes its sessions after this, and waits for a server that is gone.
        atexit.register(_stop, child)
    return line.split()[1]


def _stop(child):
    if child.poll() is None:
        child.terminate()
        child.wait()


def wait_for_the_end(spec, job):
    """Returns when every task of the other jobs was there and has gone. Of a cluster of one job: never."""
    others = [address for name, tasks in spec.items() if name != job for address in tasks.values()]
    waited_for, last_seen = set(others), {}
    while waited_for or not others:
        for address in list(waited_for):
            if _is_there(address):
                last_seen[address] = time.time()
            elif time.time() - last_seen.get(address, time.time()) >= _GONE_FOR:
                waited_for.discard(address)
        time.sleep(_BETWEEN_LOOKS)


_leaders = {}  # by target: who agrees on groups of collectives, as the server's config says


def with_leader(target, config):
    """TensorFlow's servers know their leader from their own config; ours is told by each session."""
    leader = _leaders.get(target)
    if not leader or (config is not None and config.experimental.collective_group_leader):
        return config
    from tensorflow.core.protobuf import config_pb2

    own = config_pb2.ConfigProto()
    if config is not None:
        own.CopyFrom(config)
    own.experimental.collective_group_leader = leader
    return own


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
        experimental = getattr(self._server_def.default_session_config, "experimental", None)
        _leaders[self._argosy_target] = getattr(experimental, "collective_group_leader", "")

    def join(self):
        wait_for_the_end(self._spec, self._server_def.job_name)

    server.__init__, server.start, server.join = __init__, start, join
    if hasattr(server, "__del__"):
        server.__del__ = lambda self: None
    server.server_def = property(lambda self: self._server_def)
    server.target = property(lambda self: self._argosy_target)
