"""README.md and docs/ beside the sources: links, settings, behaviours, and the page of results, which UPDATE_GOLDEN=1 writes anew (./dev docs)."""
import glob
import os
import re
import unittest

import public_functions
import source_tree as st

PAGES = ["README.md"] + sorted(glob.glob("docs/*.md"))


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


# ---- Links: each goes to a file that is there and to a heading that it has, and the index names every page.


def anchor_of(heading):
    """What is behind "#" in a link to a heading, as GitHub makes it."""
    return "".join("-" if c in " -" else c.lower() for c in heading if c in " -_" or (c.isascii() and c.isalnum()))


def parse_page(text):
    """Anchors of the headings, and links. Code, in blocks and in lines, has neither."""
    text = re.sub(r"^```.*?^```.*?$", "", text, flags=re.M | re.S)
    anchors, seen = set(), {}
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        anchor = anchor_of(heading)
        times = seen[anchor] = seen.get(anchor, -1) + 1
        anchors.add(f"{anchor}-{times}" if times else anchor)
    return anchors, re.findall(r"\]\(([^)\n]*)\)", re.sub("`[^`\n]*`", "", text))


def broken_links(pages, read_page):
    """read_page(path): the text of a file, "" of a folder, or None."""
    broken = []
    for path in pages:
        for link in parse_page(read_page(path) or "")[1]:
            if link.startswith(("https://", "http://")):
                continue
            file, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            text = read_page(target)
            if text is None:
                broken.append(f"{path}: there is no {target}")
            elif anchor and anchor not in parse_page(text)[0]:
                broken.append(f"{path}: {target} has no heading #{anchor}")
    return broken


class Links(unittest.TestCase):
    def test_go_to_files_and_headings_that_are_there(self):
        def read_page(path):
            return "" if os.path.isdir(path) else read(path) if os.path.exists(path) else None

        self.assertGreater(len(PAGES), 10)
        self.assertEqual(broken_links(PAGES, read_page), [])

    def test_of_the_index_name_every_page(self):
        named = {"docs/" + link.split("#")[0] for link in parse_page(read("docs/README.md"))[1]}
        self.assertEqual([page for page in PAGES if page not in named | {"README.md", "docs/README.md"}], [])

    def test_that_are_broken_are_found(self):
        files = {"README.md": "[a](docs/a.md#two-words) [b](docs/b.md)\n`[c](docs/c.md)`\n",
                 "docs/a.md": "# Two, words\n## x\n## x\n[x](#x-1) [y](#y) [up](../README.md)\n"
                              "```\n# y\n[z](z.md)\n```\n[web](https://example.org/none)"}
        self.assertEqual(broken_links(["README.md", "docs/a.md"], files.get),
                         ["README.md: there is no docs/b.md", "docs/a.md: docs/a.md has no heading #y"])


# ---- Settings: base/settings.def lists the environment variables; nothing else reads one, and the docs name no other.


def reads_the_environment(source):
    return re.search(r"\b(secure_)?getenv\s*\(", re.sub("//[^\n]*", "", source)) is not None


def unknown_variables(page):
    """The variables that a page speaks of: `HEDDLE_X`, HEDDLE_X=value. Options of CMake are not."""
    known = set(re.findall(r'^HEDDLE_(?:TEST_)?SETTING\([^"]*"(\w+)"', read("base/settings.def"), re.M))
    found = {name for option, name in re.findall(r"(-D\s*)?\b(HEDDLE_[A-Z_]+)(?:`|=)", page) if not option}
    return sorted(name for name in found - known if not name.startswith("HEDDLE_TEST_"))


class Settings(unittest.TestCase):
    def test_are_read_in_one_place(self):  # tests set and restore variables, and have UPDATE_GOLDEN
        sources = [path for path in sorted(st.read_source_tree()) if not path.startswith("tests/") and not st.is_test(path)]
        self.assertEqual([path for path in sources if reads_the_environment(read(path))], ["base/settings.cc"])

    def test_of_the_docs_are_read(self):
        for page in PAGES + ["dev"]:
            self.assertEqual(unknown_variables(read(page)), [], page)

    def test_a_breach_is_found(self):
        self.assertTrue(reads_the_environment('const char* x = std::getenv("HEDDLE_X");'))
        self.assertFalse(reads_the_environment("// as getenv() gives it\nint x = 1;"))
        self.assertEqual(unknown_variables("`HEDDLE_CACHE=0`, `HEDDLE_CAHCE`, -DHEDDLE_WERROR=ON, HEDDLE_X=1"),
                         ["HEDDLE_CAHCE", "HEDDLE_X"])


# ---- Behaviours: each number of the two studies of docs/behaviours.md has a test, or a row that says why not.


def tested(source, suite):
    """N of each TEST(Suite, N0.._..) and TEST(SuiteSpmd, ..)."""
    return {int(n) for n in re.findall(rf"TEST\({suite}(?:Spmd)?, N([0-9]+)_", source)}


def reasons_of(table):
    """Of "| 2, 6, 50-61 | reason |": the reason for each number."""
    rows = {}
    for numbers, reason in re.findall(r"\| ([0-9][0-9, -]*) \| ([^\n]*) \|", table):
        for first, last in re.findall("([0-9]+)(?:-([0-9]+))?", numbers):
            rows |= dict.fromkeys(range(int(first), int(last or first) + 1), reason)
    return rows


def breaches(tests, rows, count):
    """What is wrong with the numbers 1 .. count, in words."""
    found = [f"{n} has neither test nor row" for n in range(1, count + 1) if n not in tests and n not in rows]
    for n, reason in sorted(rows.items()):
        is_part = reason.startswith("(part")
        if n > count:
            found.append(f"{n} is no number of the list")
        if n in tests and not is_part:
            found.append(f"{n} has a test and a row that says it has none")
        if n not in tests and is_part:
            found.append(f"{n} has a row for a part, and no test of the rest")
    return found + [f"{n} is the number of a test, and none of the list" for n in sorted(tests) if not 1 <= n <= count]


class Behaviours(unittest.TestCase):
    def test_each_number_has_a_test_or_a_row(self):
        sources = "".join(read(path) for path in glob.glob("tests/behaviours/*") if os.path.isfile(path))
        page = read("docs/behaviours.md")
        for heading, suite, count in (("## torch_xla", "TorchXla", 87), ("## JAX", "Jax", 174)):
            section = page[page.index(heading) :].split("\n## ")[0]
            self.assertEqual(breaches(tested(sources, suite), reasons_of(section), count), [], suite)

    def test_what_is_missing_or_doubled_is_found(self):
        tests = tested("TEST(Jax, N002_A) {}\nTEST(Jax, N04_B) {}\nTEST(JaxSpmd, N005_C)\nTEST(TorchXla, N9_)", "Jax")
        self.assertEqual(tests, {2, 4, 5})
        rows = reasons_of("| no. | why |\n|---|---|\n| 1 | no |\n| 4 | (part: x) no |\n| 7-8 | no |\n")
        self.assertEqual(breaches(tests, rows, 8), ["3 has neither test nor row", "6 has neither test nor row"])
        self.assertEqual(breaches({1, 4}, rows, 4),
                         ["2 has neither test nor row", "3 has neither test nor row", "1 has a test and a row that says it has none",
                          "7 is no number of the list", "8 is no number of the list"])
        self.assertEqual(breaches({2}, {1: "(part: y)"}, 2), ["1 has a row for a part, and no test of the rest"])


# ---- docs/results.md lists the fields of what functions return: names, shapes and dtypes, from the comments of the headers.

RESULTS = "docs/results.md"
RESULTS_HEAD = """# Results with fields

Functions that give several tensors return a struct: `linalg::Svd f = linalg::svd(a)` has `f.u`, and `auto [u, s, vh] = linalg::svd(a)`
takes it apart, in the order of the table. Each is a tree: a traced function may take and return it. Made from the headers: `./dev docs` writes this page.

| function | field | what it is |
|---|---|---|
"""


def fields_of(body):
    """Fields of a struct of tensors alone, with their comments; none of any other."""
    fields = []
    for line in re.sub(r"  static constexpr auto kFields =[^;]*;\n", "", body).splitlines():
        if m := re.fullmatch(r"  Tensor (\w+(?:, \w+)*);(?: +// (.*))?", line):
            fields.append([m[1], m[2] or ""])
        elif (m := re.fullmatch(r" {8,}// (.*)", line)) and fields:
            fields[-1][1] += " " + m[1]
        else:
            return []
    return fields


def rows_of(header):
    """A row for each field of the structs that a function of the same header returns."""
    space = re.search(r"\nnamespace heddle::(\w+) \{", header)
    rows = ""
    for name, body in re.findall(r"\nstruct (\w+) \{\n((?:  .*\n| {8,}//.*\n)+)\};", header):
        returned = dict.fromkeys(re.findall(rf"\n{name} (\w+)\(", header))
        functions = ", ".join(f"`{space[1] + '::' if space else ''}{each}`" for each in returned)
        for field, comment in fields_of(body) if functions else []:
            rows += f"| {functions} | `{field}` | {comment.replace('|', chr(92) + '|')} |\n"
            functions = ""
    return rows


def result_headers():
    folders = ("trace", "scan", "numpy", "linalg", "special", "random", "nn")
    return [path for folder in folders for path in sorted(glob.glob(f"{folder}/*.h"))]


def results_page():
    return RESULTS_HEAD + "".join(rows_of(read(path)) for path in result_headers())


def structs_without_list(header):
    """Structs of tensors that functions return, which are no trees."""
    for name, body in re.findall(r"\nstruct (\w+) \{\n((?:  .*\n| {8,}//.*\n)+)\};", header):
        if re.search(rf"\n{name} \w+\(", header) and fields_of(body) and "kFields" not in body:
            yield name


class ResultsPage(unittest.TestCase):
    def test_each_is_a_tree(self):
        missing = [name for path in result_headers() for name in structs_without_list(read(path))]
        self.assertEqual(missing, ["OperandPair"])  # of operands, which no trace has

    def test_is_what_the_headers_say(self):
        page = results_page()
        if os.environ.get("UPDATE_GOLDEN") == "1":
            with open(RESULTS, "w", encoding="utf-8") as file:
                file.write(page)
        self.assertEqual(read(RESULTS), page, f"{RESULTS} is out of date: run ./dev docs")

    def test_has_a_field_in_each_row_and_what_it_is(self):
        self.assertEqual(rows_of("\nnamespace heddle::box {\nstruct Lid {\n  Tensor up;    // s32[]: how far\n"
                                 "                // it is up\n  Tensor down;  // f32[n]\n};\nLid lid(int x);\n"
                                 "struct How {\n  Tensor by;  // f32[]\n};\nTensor f(const How& how);\n}"),
                         "| `box::lid` | `up` | s32[]: how far it is up |\n|  | `down` | f32[n] |\n")
        rows = results_page().removeprefix(RESULTS_HEAD).splitlines()
        for row in rows:
            self.assertRegex(row, r"^\|.*\| `\w+` \| .*[a-z0-9].* \|$",
                             "a field has a line of its own, with a comment that tells its shape and dtype")
        self.assertGreaterEqual(len(rows), 40)


# ---- docs/ops.md lists the functions of the public headers (tests/laws/ops_page.cc).


class PublicFunctions(unittest.TestCase):
    def told(self, text):
        return [" | ".join(function) for function in public_functions.parse_header(text)[1]]

    def test_are_read_with_their_comments(self):
        text = """// Things. And more
// of them.
#pragma once

namespace heddle::box {

// Opens x [.., n]
//
// of  what  it is told. The rest
// errors: none
Tensor open(Operand x, double by = 1,
            SourceLocation at = SourceLocation::here());
Tensor shut(Operand x);  // the other way: e
struct Lid {
  int size = 0;  // not a function(of its own);
};
template <class T>
requires std::is_arithmetic_v<T> Tensor lid(T of, Lid lid = {}) {
  return open(of);
}
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B> Tensor both(A a, B b);

Tensor silent(Operand x);

namespace box_internal {
Tensor hidden(Operand x);
}  // namespace box_internal
}  // namespace heddle::box
"""
        self.assertEqual(public_functions.parse_header(text)[0], "Things")
        self.assertEqual(self.told(text), ["box::open | Tensor open(Operand x, double by = 1) | Opens x [.., n]",
                                           "box::shut | Tensor shut(Operand x) | the other way: e",
                                           "box::lid | Tensor lid(T of, Lid lid = {}) | ", "box::both | Tensor both(A a, B b) | ",
                                           "box::silent | Tensor silent(Operand x) | "])

    def test_take_no_comment_of_another_one(self):
        """What stands below a comment, and is no overload of what it is of, has no comment; the law OpsPage.HasEveryPublicFunction says so."""
        text = """namespace heddle {
// The sum.
Tensor psum(Operand x);
Tensor psum(Operand x, int64_t axis);
Tensor pmax(Operand x);
Tensor psum(Operand x, double scale);

// How a lid is made.
struct Lid {};
Lid(Tensor (*)(Operand)) -> Lid;
Tensor lid(Lid lid);
enum class Side { kLeft };  // of a lid
// Scaled.
Tensor selu(Operand x);
Tensor silu(Operand x);                             // x * sigmoid(x)
inline Tensor swish(Operand x) { return silu(x); }  // silu
inline Tensor twice(Operand x) {
  return x + x;  // no comment of the function
}
using Other = Lid;  // not of hidden()
Tensor hidden(Operand x);
}  // namespace heddle
"""
        self.assertEqual(self.told(text), ["psum | Tensor psum(Operand x) | The sum", "psum | Tensor psum(Operand x, int64_t axis) | The sum",
                                           "pmax | Tensor pmax(Operand x) | ", "psum | Tensor psum(Operand x, double scale) | The sum",
                                           "lid | Tensor lid(Lid lid) | ", "selu | Tensor selu(Operand x) | Scaled",
                                           "silu | Tensor silu(Operand x) | x * sigmoid(x)", "swish | Tensor swish(Operand x) | silu",
                                           "twice | Tensor twice(Operand x) | ", "hidden | Tensor hidden(Operand x) | "])


if __name__ == "__main__":
    unittest.main()
