"""The shape rules of hlo/ as text: each of their errors, in.error(a, " is ", b, "; must be an array"), is in a golden file of tests/golden/errors."""
import glob
import re
import unittest

# Errors that no text can reach: the reader refuses the program before, or always gives what the rule asks for.
UNREACHABLE = {
    ("hlo/op.cc", "calls "): "the reader knows how many computations an op calls",
    ("hlo/op.cc", "has the attributes of another op"): "the reader gives each op its own attributes",
    ("hlo/ops/control/nullary.cc", "has no value"): "text has a value between the brackets of every constant",
    ("hlo/ops/control/nullary.cc", "value is "): "the reader makes the value of the declared type",
    ("hlo/ops/control/conditional.cc", "index is pred[] and chooses among "): "text names the two computations of a pred[] index",
    ("hlo/ops/contraction/linalg.cc", "transpose_a is not set; must be NO_TRANSPOSE, TRANSPOSE or ADJOINT"): "text has no word for that",
    ("hlo/ops/control/region.cc", " has no root"): "computations of text have instructions, and the last one is the root",
    ("hlo/ops/control/region.cc", " has no parameter "): "the reader has counted the parameters",
}
TOKEN = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([({\[])|([)}\]])|(,)|[^"'(){}\[\],]+""", re.S)


def arguments_at(source, at):
    """The arguments of a call, from behind its bracket."""
    arguments, depth = [""], 0
    for token in TOKEN.finditer(source, at):
        depth += (token[2] is not None) - (token[3] is not None)
        if depth < 0:
            return arguments
        if token[4] and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += token[0]


def error_sites(source):
    """A (line, parts) for each in.error(..). Parts are its texts, in order, and "" for a value between them."""
    for call in re.finditer(r"in\.error\(", source):
        arguments = [re.fullmatch(r'(\s*"(?:[^"\\]|\\.)*")+\s*', each) and "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', each))
                     for each in arguments_at(source, call.end())]
        yield source.count("\n", 0, call.start()) + 1, [text or "" for text in arguments]


def can_write(parts, message):
    """Whether a site of these parts can have written the message, which begins with "op: "."""
    return re.fullmatch("(?:(?!: ).)*: " + "".join(re.escape(part) or ".*" for part in parts), message) is not None


class ShapeRules(unittest.TestCase):
    def test_have_a_golden_file_of_every_error(self):
        messages = [message for path in glob.glob("tests/golden/errors/*.hlo") for message in re.findall(r"  // error: (.*)", read(path))]
        sites, breaches = 0, []
        for path in sorted(glob.glob("hlo/**/*.cc", recursive=True) + glob.glob("hlo/**/*.h", recursive=True)):
            for line, parts in error_sites(read(path)) if "test" not in path else ():
                sites += 1
                reached = any(can_write(parts, message) for message in messages)
                if reached == any((path, part) in UNREACHABLE for part in parts):
                    breaches.append(f"{path}:{line}: {parts} is reached, and listed as unreachable" if reached else
                                    f"{path}:{line}: {parts} has no case in tests/golden/errors")
        self.assertEqual(breaches, [])
        self.assertGreater(sites, 100)

    def test_are_read_with_their_texts_and_values(self):
        sites = list(error_sites('x;\nreturn in.error(name(in, ","), " is ", in[0],\n  "; its "\n  "size");\nin.error("no");'))
        self.assertEqual(sites, [(2, ["", " is ", "", "; its size"]), (5, ["no"])])
        self.assertTrue(can_write(sites[0][1], "add: x is f32[2]; its size"))
        self.assertFalse(can_write(sites[0][1], "add: x is f32[2]; its sizes"))
        self.assertFalse(can_write(sites[1][1], "add: so no"))


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


if __name__ == "__main__":
    unittest.main()
