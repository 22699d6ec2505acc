"""What the scripts that lower programs by JAX share: types of inputs, and folders for `heddle bench`."""
import argparse
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


def varied(each, dtype, odd):
    """An input with elements of another type in place of f32, or with sizes that are less by one."""
    if odd:
        return {**each, "shape": [n - 1 if n > 8 else n for n in each["shape"]]}
    if dtype is None or each["dtype"] != "float32":
        return each
    return {**each, "dtype": dtype} if "float" in dtype else {**each, "dtype": dtype, "low": 0.0, "high": 100.0}


def write_all(programs, unit, about):
    """The programs that the command line names, or all, as folders of the one that it names first."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--dtype", help="in place of float32; programs without it are left out")
    parser.add_argument("--odd", action="store_true", help="sizes that are less by one")
    options = parser.parse_args()
    varies, left_out = options.odd or options.dtype, []
    for name in options.names or programs:
        fn, steps, inputs = programs[name]
        try:
            changed = [varied(each, options.dtype, options.odd) for each in inputs]
            if options.dtype and all(each["dtype"] != options.dtype for each in changed):
                raise TypeError("it has no array of f32")
            write(options.folder / name, name, (fn, steps, changed), unit)
        except Exception as refused:  # of the program as it varies: JAX has no such function
            if not varies:
                raise
            left_out.append(f"{name}: {str(refused).splitlines()[0][:90]}")
    if varies:
        print(*left_out, f"{len(left_out)} programs are left out", sep="\n")
