"""What the scripts that lower programs by JAX share: types of inputs, and folders for `heddle bench`."""
import json
import pathlib
import sys

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ImportError as missing:
    sys.exit(f"JAX is not installed ({missing}); nothing is made")

PROGRAMS = {}  # loops
FUNCTIONS = {}


def floats(*shape, low=-1.0, high=1.0):
    return {"shape": shape, "dtype": "float32", "low": low, "high": high}


def integers(*shape, high):
    return {"shape": shape, "dtype": "int32", "low": 0.0, "high": float(high)}


def numbers(shape, dtype, low=-1.0, high=1.0):
    return {"shape": shape, "dtype": dtype, "low": float(low), "high": float(high)}


KEY = integers(2, high=100_000)


def loop(steps, *inputs):
    """A program of so many steps, with arguments of these types."""

    def register(fn):
        PROGRAMS[fn.__name__] = (fn, steps, inputs)
        return fn

    return register


def function(name, fn, *inputs):
    FUNCTIONS[name] = (fn, 1, inputs)


def write(folder, name, program, unit):
    fn, steps, inputs = program
    types = [jax.ShapeDtypeStruct(each["shape"], each["dtype"]) for each in inputs]
    module = jax.jit(fn, keep_unused=True).lower(*types).compiler_ir("hlo").as_hlo_module()
    meta = {"name": name, "steps": steps, "unit": unit, "donated_parameters": [], "custom_calls": []}
    meta["inputs"] = [{
        "shape": each["shape"],
        "dtype": each["dtype"],
        "generator": {"gen": "splitmix64_counter", "seed": seed, "lo": each["low"], "hi": each["high"],
                      "floor": "int" in each["dtype"]},
    } for seed, each in enumerate(inputs, 1)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "module.hlo.txt").write_text(module.to_string())
    (folder / "meta.json").write_text(json.dumps(meta))


def write_all(programs, unit, about):
    """The programs that the command line names, or all, as folders of the one that it names first."""
    if len(sys.argv) < 2:
        sys.exit(about)
    for name in sys.argv[2:] or programs:
        write(pathlib.Path(sys.argv[1]) / name, name, programs[name], unit)
