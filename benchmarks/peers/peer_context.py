"""What a GPU costs any program before it can do anything: from this process's start to a context on the GPU. Asks the
driver alone; the first GPU that CUDA_VISIBLE_DEVICES leaves."""
import ctypes
import sys

try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as problem:
    sys.exit(f"no driver: {problem}")
device, context = ctypes.c_int(), ctypes.c_void_p()
for name, arguments in (("cuInit", (ctypes.c_uint(0),)), ("cuDeviceGet", (ctypes.byref(device), ctypes.c_int(0))),
                        ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), device))):
    if (status := getattr(cuda, name)(*arguments)) != 0:
        sys.exit(f"{name} gives error {status}")
