"""What round_trip_test.cc asks of numpy.

  round_trip.py write FOLDER    writes x.npy, params.npz, small.npz there
  round_trip.py check FOLDER    checks ours.npy, ours.npz, compressed.npz, which Heddle wrote
"""
import sys
import zipfile

import numpy as np

W = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
B = np.array([True, False])


def write(folder):
    np.save(f"{folder}/x.npy", np.asfortranarray(W.astype(">f8")))
    np.savez(f"{folder}/params.npz", **{"w": W, "layers[0].b": B, "layers[1].b": ~B})
    np.savez_compressed(f"{folder}/small.npz", W, np.int8(-3))
    with open(f"{folder}/pipe.npz", "wb") as file:  # not seekable: sizes stand behind the entries
        file.seekable = None
        class Pipe:
            def write(self, data): return file.write(data)
            def flush(self): file.flush()
        with zipfile.ZipFile(Pipe(), "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("w.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, W)


def check(folder):
    x = np.load(f"{folder}/ours.npy")
    assert x.dtype == np.float64 and (x == W).all(), x
    for name in ("ours.npz", "compressed.npz"):
        assert zipfile.ZipFile(f"{folder}/{name}").testzip() is None
        y = np.load(f"{folder}/{name}")
        assert sorted(y.files) == ["half", "layers[0].b", "layers[1].b", "naïve", "w"], y.files
        assert y["w"].dtype == np.float32 and (y["w"] == W).all()
        assert y["layers[0].b"].dtype == np.bool_ and (y["layers[1].b"] == ~B).all()
        assert y["naïve"].dtype == np.complex64 and y["naïve"] == 1 + 2j
        assert y["half"].dtype.itemsize == 2
        halves = (y["half"].view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        assert (halves == [1, -2.5]).all(), halves


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
