"""GPUs of a server that a test starts: emulated ones, or fake ones where ARGOSY_CUDA_PLUGIN names their plug-in (tests/fake_gpu)."""
import os


def are_fake():
    return bool(os.environ.get("ARGOSY_CUDA_PLUGIN"))


def flags(count):
    """Of `argosy serve`, for so many GPUs. Fake ones are counted in the environment: call it before the server starts."""
    if not are_fake():
        return ["--emulate", str(count)]
    os.environ["ARGOSY_FAKE_GPUS"] = f"gpus={count}"
    return []
