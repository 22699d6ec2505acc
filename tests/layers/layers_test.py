"""The rules of docs/architecture.md, on this project; and each rule finds a breach where there is one, and nothing in the like without it."""
import unittest

import source_tree as st
from source_tree import SourceFile


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


class Layers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tree = st.read_source_tree()
        cls.table = st.parse_layer_table(read("docs/architecture.md"))

    def test_the_tree_and_the_table_are_read(self):
        self.assertIn("hlo/shape.h", self.tree)
        self.assertIn("hlo", self.table)

    def test_rules_of_files(self):
        for rule in (st.includes_not_found, st.headers_in_cycles, st.hidden_packages_in_public_headers,
                     st.internal_headers_included_from_outside, st.public_headers_too_deep,
                     st.sources_that_do_not_include_their_header_first,  # so each source proves that its header compiles alone
                     st.types_not_included, st.lines_too_long, st.files_too_long, st.private_names_used_twice):
            with self.subTest(rule=rule.__name__):
                self.assertEqual(rule(self.tree), [])

    def test_rules_of_the_table(self):
        self.assertEqual(st.folders_without_row(self.tree, self.table), [])
        self.assertEqual(st.folders_in_cycles(self.table), [])
        self.assertEqual(st.links_off_the_table(st.parse_cmake_links(read("CMakeLists.txt")), self.table), [])
        self.assertEqual(st.includes_off_the_table(self.tree, self.table), [])


def including(path):
    return SourceFile(lines=1, includes=[(path, 1)])


class Rules(unittest.TestCase):
    def test_read_includes_with_their_lines(self):
        file = st.parse_source('// #include <a>\n#include <map>\n\n#  include "heddle/hlo/shape.h"  // why\n')
        self.assertEqual(file.includes, [("map", 2), ("heddle/hlo/shape.h", 4)])
        self.assertEqual(file.lines, 4)

    def test_read_the_table(self):
        table = st.parse_layer_table("| folder | what | may include |\n|---|---|---|\n| base/ | ids | |\n"
                                     "| hlo/ | `a(b, …)` | base |\n| tools/ tests/ | t | everything |\n")
        self.assertEqual(table, {"base": set(), "hlo": {"base"}, "tools": {"everything"}, "tests": {"everything"}})

    def test_find_a_folder_without_row(self):
        tree = {path: SourceFile() for path in ("hlo/a.h", "misc/b.cc", "heddle.h")}
        self.assertEqual(st.folders_without_row(tree, {"hlo": set()}), ["misc"])

    def test_find_a_cycle_of_folders(self):
        self.assertEqual(st.folders_in_cycles({"a": {"b/low"}, "b": {"c"}, "c": {"a"}}), ["c comes back to a"])
        self.assertEqual(st.folders_in_cycles({"a": {"b", "c"}, "b": {"c"}}), [])

    def test_read_a_part_of_a_folder(self):
        table = {"base": set(), "hlo": {"base"}, "hlo/text": {"hlo"}, "trace": {"hlo", "hlo/text"}}
        self.assertEqual([st.folder_of(path) for path in ("hlo/text.h", "hlo/text/a.cc", "hlo/texture.h", "hlo/a.h")],
                         ["hlo/text", "hlo/text", "hlo", "hlo"])
        text = including("heddle/hlo/text.h")
        self.assertEqual(st.includes_off_the_table({"trace/a.cc": text, "hlo/a_test.cc": text, "hlo/text/a.cc": text}, table), [])
        for path in ("hlo/a.cc", "base/a.cc"):
            self.assertEqual(len(st.includes_off_the_table({path: text}, table)), 1, path)
        self.assertEqual(st.folders_in_cycles(table), [])
        self.assertEqual(st.folders_in_cycles(table | {"hlo": {"hlo/text"}}), ["hlo/text comes back to hlo"])
        links = st.parse_cmake_links("heddle_library(hlo/text DEPS hlo)\nheddle_library(trace DEPS hlo hlo/text)")
        self.assertEqual(st.links_off_the_table(links, table), [])

    def test_find_a_link_off_the_table(self):
        links = st.parse_cmake_links("heddle_library(hlo DEPS base x::y PRIVATE z::w)\nheddle_library(cpu DEPS scan)")
        self.assertEqual(st.links_off_the_table(links, {"hlo": {"base"}, "cpu": {"scan/lower"}}), [])
        self.assertEqual(len(st.links_off_the_table(links, {"hlo": {"base"}, "cpu": {"hlo"}})), 1)

    def test_find_an_include_of_a_higher_folder(self):
        table = {"hlo": {"base"}, "cpu": {"scan/lower"}}
        good = {"hlo/a.h": including("heddle/base/b.h"), "cpu/a.h": including("heddle/scan/lower.h")}
        self.assertEqual(st.includes_off_the_table(good, table), [])
        bad = {"hlo/a.h": including("heddle/trace/b.h"), "cpu/a.h": including("heddle/scan/scan.h")}
        self.assertEqual(st.includes_off_the_table(bad, table), ["cpu/a.h:1: includes heddle/scan/scan.h; cpu/ may not",
                                                                 "hlo/a.h:1: includes heddle/trace/b.h; hlo/ may not"])

    def test_let_a_unit_test_include_an_umbrella_of_what_its_folder_may(self):
        table = {"hlo": {"base"}}
        user = including("heddle/testing.h")
        tree = {"testing.h": including("heddle/base/b.h"), "hlo/a_test.cc": user}
        self.assertEqual(st.includes_off_the_table(tree, table), [])
        tree["hlo/a.cc"] = user
        self.assertEqual(len(st.includes_off_the_table(tree, table)), 1)
        tree["testing.h"] = including("heddle/trace/t.h")
        self.assertEqual(len(st.includes_off_the_table(tree, table)), 2)

    def test_let_a_unit_test_run_on_the_interpreter(self):
        table = {"base": set(), "hlo": {"base"}, "transform": {"hlo"}}
        user = including("heddle/interpreter/evaluate.h")
        self.assertEqual(st.includes_off_the_table({"transform/a_test.cc": user}, table), [])
        for path in ("transform/a.cc", "hlo/a_test.cc", "base/a_test.cc"):
            self.assertEqual(len(st.includes_off_the_table({path: user}, table)), 1, path)

    def test_find_an_include_that_is_spelled_another_way(self):
        tree = {"hlo/a.h": including("heddle/hlo/b.h"), "hlo/b.h": including("sys/mman.h")}
        self.assertEqual(st.includes_not_found(tree), [])
        for path in ("hlo/b.h", "b.h", "heddle/hlo/c.h"):
            self.assertEqual(len(st.includes_not_found(tree | {"hlo/a.h": including(path)})), 1, path)

    def test_find_a_cycle_of_headers(self):
        tree = {"hlo/a.h": including("heddle/hlo/b.h"), "hlo/b.h": including("heddle/hlo/a.h")}
        self.assertEqual(st.headers_in_cycles(tree), ["hlo/b.h comes back to hlo/a.h"])

    def test_find_a_package_in_a_public_header(self):
        for path in ("absl/status/status.h", "Eigen/Dense", "google/protobuf/message.h", "heddle/hlo/proto/hlo.pb.h", "llvm/IR/Module.h"):
            self.assertEqual(len(st.hidden_packages_in_public_headers({"hlo/a.h": including(path)})), 1, path)
            self.assertEqual(st.hidden_packages_in_public_headers({"hlo/a.cc": including(path)}), [], path)

    def test_find_an_internal_header_in_use_outside(self):
        user = including("heddle/hlo/internal/a.h")
        for path in ("hlo/b.h", "trace/b.cc"):
            self.assertEqual(len(st.internal_headers_included_from_outside({path: user})), 1, path)
        self.assertEqual(st.internal_headers_included_from_outside({"hlo/b.cc": user, "hlo/internal/c.h": user}), [])

    def test_find_a_header_that_stands_too_high(self):
        tree = {f"hlo/h{i}.h": including(f"heddle/hlo/h{i - 1}.h") for i in range(1, st.MAX_DEPTH + 2)}
        tree |= {"hlo/h0.h": including("heddle/base/b.h"), "base/b.h": SourceFile(), "trace/t.h": including("heddle/hlo/h6.h")}
        self.assertEqual(st.public_headers_too_deep(tree), ["hlo/h7.h stands on 7 levels of headers of its folder"])

    def test_find_a_source_that_includes_its_header_later(self):
        tree = {"hlo/a.h": SourceFile(), "hlo/a.cc": including("map"), "hlo/b.cc": including("map")}
        self.assertEqual(st.sources_that_do_not_include_their_header_first(tree), ["hlo/a.cc"])

    def test_find_a_type_whose_header_is_not_included(self):
        def found(text):
            sources = {"hlo/module.h": "namespace heddle::hlo {\nstruct Module {\n};\n}  // namespace heddle::hlo\n",
                       "cpu/plan.h": "namespace heddle::cpu {\nclass Plan {};\n}  // namespace heddle::cpu\n",
                       "cpu/low.h": '#include "heddle/hlo/module.h"\n', "cpu/b.h": text}
            return st.types_not_included({path: st.parse_source(text) for path, text in sources.items()})

        def of_cpu(text):
            return f"namespace heddle::cpu {{\n{text}\n}}  // namespace heddle::cpu\n"

        says = of_cpu("bool f(const hlo::Module& module);")
        self.assertEqual(found(says), ["cpu/b.h: says Module without an include of hlo/module.h"])
        self.assertEqual(found(of_cpu("bool f(const Plan& plan);")), ["cpu/b.h: says Plan without an include of cpu/plan.h"])
        for text in ('#include "heddle/hlo/module.h"\n' + says, '#include "heddle/cpu/low.h"\n' + says,
                     "namespace heddle::hlo {\nclass Module;  // hlo/module.h\n}\n" + says, of_cpu("// hlo::Module"),
                     of_cpu("bool f(const Module& module);"), of_cpu('int at(const char* text = "Plan");'),
                     of_cpu("template <typename Plan>\nvoid f(Plan plan);"), "namespace heddle {\nbool f(const Plan& plan);\n}  // namespace heddle\n"):
            self.assertEqual(found(text), [], text)

    def test_find_a_line_that_is_too_long(self):
        def found(text):
            return st.lines_too_long({"trace/a.cc": st.parse_source(text)})

        fits = "// é" + 96 * "x"
        self.assertEqual(found(f"int x;\n{fits}\n{fits}x\n"), ["trace/a.cc:3: has more than 100 columns"])
        program = f'auto p = R"(\n{fits}xxx\n{fits}xxx)";\n'
        self.assertEqual(found(program), [])
        self.assertEqual(found(f"{program}{fits}x\n"), ["trace/a.cc:4: has more than 100 columns"])

    def test_find_a_file_that_is_too_long(self):
        self.assertEqual(st.files_too_long({"hlo/a.cc": SourceFile(lines=601)}), ["hlo/a.cc has 601 lines"])
        self.assertEqual(st.files_too_long({"hlo/a.cc": SourceFile(lines=600)}), [])

    def test_find_a_private_name_that_a_library_has_twice(self):
        def found(path, text):
            sources = {"cpu/a.cc": "namespace {\nstruct Tile {\n};\n\nconstexpr int kSizes[] = {1};\n\n}  // namespace\n", path: text}
            return st.private_names_used_twice({path: st.parse_source(text) for path, text in sources.items()})

        both = "namespace {\nclass Tile final : Base {\n};\nconstexpr std::array<int, 2> kSizes = {};\n}  // namespace\n"
        self.assertEqual(found("cpu/low/b.cc", both), ["cpu/low/b.cc:2: Tile is a name in cpu/a.cc too",
                                                       "cpu/low/b.cc:4: kSizes is a name in cpu/a.cc too"])
        self.assertEqual(len(found("cpu/b.cc", "namespace {\nenum class Tile : uint8_t { kOne };\n}  // namespace\n")), 1)
        for path in ("cpu/b_test.cc", "hlo/b.cc", "codegen/jit/llvm/b.cc"):
            self.assertEqual(found(path, both), [], path)
        for text in ("struct Tile {};\n", "namespace {\nstruct Tile;\nTile of();\n}  // namespace\n",
                     "namespace {\n}  // namespace\nconstexpr int kSizes = 1;\n", "namespace {\nint f() {\n  constexpr int kSizes = 1;\n}\n}  // namespace\n"):
            self.assertEqual(found("cpu/b.cc", text), [], text)


if __name__ == "__main__":
    unittest.main()
