"""Lifetimes of arrays that Heddle and numpy, or PyTorch, hand to each other; dlpack_test.cc runs it.

    dlpack.py BRIDGE numpy|torch

An assertion that fails ends it with an error.
"""
import ctypes
import gc
import sys
import threading
import weakref

import numpy as np

BRIDGE = ctypes.CDLL(sys.argv[1])  # its calls run without Python's lock
for name in ("lend", "count", "export", "import", "doubled"):
    getattr(BRIDGE, "bridge_" + name).restype = ctypes.c_void_p
BRIDGE.bridge_sum.restype = ctypes.c_double
BRIDGE.bridge_has_memory.restype = ctypes.c_bool
for name in ("error", "type"):
    getattr(BRIDGE, "bridge_" + name).restype = ctypes.c_char_p
PYTHON = ctypes.pythonapi
PYTHON.PyCapsule_New.restype = ctypes.py_object
PYTHON.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
PYTHON.PyCapsule_GetPointer.restype = ctypes.c_void_p
PYTHON.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
PYTHON.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = b"used_dltensor"


def pointer(handle):
    assert handle, BRIDGE.bridge_error().decode()
    return ctypes.c_void_p(handle)


class Ours:
    """A tensor of Heddle's, as another library takes it."""

    def __init__(self, handle):
        self.handle = pointer(handle)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        array = pointer(BRIDGE.bridge_export(self.handle))
        end = ctypes.cast(BRIDGE.bridge_end_capsule, ctypes.c_void_p)
        return PYTHON.PyCapsule_New(array, b"dltensor", end)

    def drop(self, on_a_thread=False):
        (BRIDGE.bridge_drop_on_a_thread if on_a_thread else BRIDGE.bridge_drop)(self.handle)
        self.handle = None

    def sum(self):
        return BRIDGE.bridge_sum(self.handle)

    def type(self):
        return BRIDGE.bridge_type(self.handle).decode()

    def is_at(self, address):
        return BRIDGE.bridge_has_memory(self.handle, ctypes.c_void_p(address))


def taken(array):
    """A tensor of Heddle's that uses the array."""
    capsule = array.__dlpack__()
    handle = BRIDGE.bridge_import(ctypes.c_void_p(PYTHON.PyCapsule_GetPointer(capsule, b"dltensor")))
    out = Ours(handle)
    assert PYTHON.PyCapsule_SetName(capsule, USED) == 0
    return out


def lent(rows=100, columns=64):
    return Ours(BRIDGE.bridge_lend(ctypes.c_int64(rows), ctypes.c_int64(columns)))


def counted(rows, columns, dtype):
    return Ours(BRIDGE.bridge_count(ctypes.c_int64(rows), ctypes.c_int64(columns), dtype.encode()))


def released():
    gc.collect()
    return BRIDGE.bridge_released()


def aligned(count):
    """Floats of numpy's at a multiple of 64 bytes, and a reference that tells when they go."""
    raw = np.zeros(count * 4 + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    out = raw[begin:begin + count * 4].view(np.float32)
    out[:] = np.arange(count)
    return out, weakref.ref(raw)


class Numpy:
    take = staticmethod(lambda x: np.from_dlpack(x))
    of_numpy = staticmethod(lambda x: x)
    address = staticmethod(lambda x: x.ctypes.data)
    dtypes = {"pred": "bool", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
              "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "f16": "float16",
              "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}


class Torch:
    def __init__(self):
        import torch
        self.take = torch.from_dlpack
        self.of_numpy = torch.from_numpy
    address = staticmethod(lambda x: x.data_ptr())
    dtypes = {**{k: "torch." + v for k, v in Numpy.dtypes.items()}, "bf16": "torch.bfloat16"}


def our_memory_stays_as_long_as_theirs(lib):
    before = released()
    x = lent()
    theirs = lib.take(x)
    part = theirs[10:20]
    x.drop()
    del theirs
    assert released() == before  # the part keeps all of it
    assert float(part[0, 0]) == 640 and float(part.sum()) == sum(range(640, 1280))
    del part
    assert released() == before + 1


def two_takers_are_two_owners(lib):
    before = released()
    x = lent()
    first, second = lib.take(x), lib.take(x)
    assert lib.address(first) == lib.address(second)
    del first
    x.drop(on_a_thread=True)
    assert released() == before and float(second[1, 1]) == 65
    del second
    assert released() == before + 1


def a_capsule_that_nobody_takes_ends(lib):
    before = released()
    x = lent()
    capsule = x.__dlpack__()
    x.drop()
    assert released() == before
    del capsule
    assert released() == before + 1


def the_last_of_theirs_may_go_on_another_thread(lib):
    before = released()
    x = lent()
    box = [lib.take(x)]
    x.drop()
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert released() == before + 1


def a_run_that_is_given_the_memory_leaves_it(lib):
    x = counted(64, 64, "f32")
    theirs = lib.take(x)
    y = Ours(BRIDGE.bridge_doubled(x.handle))
    assert y.sum() == 2 * sum(range(4096)) and float(theirs.sum()) == sum(range(4096))
    x.drop()
    y.drop()
    assert float(theirs[63, 63]) == 4095


def their_memory_stays_as_long_as_ours(lib):
    array, reference = aligned(4096)
    address = array.ctypes.data
    x = taken(lib.of_numpy(array))
    del array
    gc.collect()
    assert x.is_at(address) and reference() is not None
    assert x.sum() == sum(range(4096))
    again = lib.take(x)  # and back: our tensor may go, the memory stays
    x.drop()
    gc.collect()
    assert lib.address(again) == address and reference() is not None
    del again
    gc.collect()
    assert reference() is None


def ours_of_theirs_may_go_on_another_thread(lib):
    array, reference = aligned(4096)
    x = taken(lib.of_numpy(array))
    del array
    x.drop(on_a_thread=True)  # their deleter takes Python's lock there
    gc.collect()
    assert reference() is None


def a_copy_lets_go_at_once(lib):
    array, reference = aligned(4096)
    address = array.ctypes.data
    for part in (array[1:], array.reshape(64, 64).T):  # not aligned; not row-major
        want = float(part.sum())
        x = taken(lib.of_numpy(part))
        assert not x.is_at(address) and x.sum() == want
        x.drop()
    x = taken(lib.of_numpy(array.reshape(64, 64).T))
    del array, part
    gc.collect()
    assert reference() is None and x.sum() == sum(range(4096))
    x.drop()


def every_dtype_goes_there_and_back(lib):
    for ours, theirs in lib.dtypes.items():
        x = counted(2, 3, ours)
        array = lib.take(x)
        assert str(array.dtype) == theirs and tuple(array.shape) == (2, 3), (ours, array.dtype)
        if ours == "pred":
            assert array.tolist() == [[False, True, True], [True, True, True]]
        else:
            assert array.tolist() == [[0, 1, 2], [3, 4, 5]], array
        writable = array + array if ours == "pred" else array * 1  # numpy's is read-only
        y = taken(writable)
        assert y.type() == x.type() and y.sum() == x.sum(), ours
        x.drop()
        y.drop()


def empty_arrays_too(lib):
    x = counted(0, 3, "f32")
    array = lib.take(x)
    assert tuple(array.shape) == (0, 3)
    x.drop()
    y = taken(lib.of_numpy(np.zeros((3, 0), np.float32)))
    assert y.type() == "f32[3,0]"
    y.drop()


def hundreds_of_megabytes_do_not_pile_up(lib):
    """Were a lifetime lost, this would take 5 GB."""
    with open("/proc/self/statm") as file:
        before = int(file.read().split()[1]) * 4096
    for _ in range(20):
        array = lib.take(lent_and_dropped())
        y = taken(array * 1)
        del array
        y.drop()
    with open("/proc/self/statm") as file:
        assert int(file.read().split()[1]) * 4096 - before < 1 << 29


class lent_and_dropped(Ours):
    """Is dropped as soon as it was taken."""

    def __init__(self):
        super().__init__(BRIDGE.bridge_lend(ctypes.c_int64(8192), ctypes.c_int64(4096)))

    def __dlpack__(self, **_):
        capsule = super().__dlpack__()
        self.drop()
        return capsule


LIBRARY = {"numpy": Numpy, "torch": Torch}[sys.argv[2]]()
for test in (our_memory_stays_as_long_as_theirs, two_takers_are_two_owners,
             a_capsule_that_nobody_takes_ends, the_last_of_theirs_may_go_on_another_thread,
             a_run_that_is_given_the_memory_leaves_it, their_memory_stays_as_long_as_ours,
             ours_of_theirs_may_go_on_another_thread, a_copy_lets_go_at_once,
             every_dtype_goes_there_and_back, empty_arrays_too,
             hundreds_of_megabytes_do_not_pile_up):
    print(test.__name__, flush=True)
    test(LIBRARY)
