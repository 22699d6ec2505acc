"""The project's sources as text, and the rules of docs/architecture.md on which file may include which.

A tree is a map from the path from the project's root, "hlo/shape.h", to a SourceFile. A table is a map from a folder to what it may include:
folders, or prefixes of paths such as "scan/lower". A rule returns one line for each breach, so that it can be shown to find one.
"""
import os
import re
from dataclasses import dataclass, field

import header_types

MAX_LINES = 600
MAX_COLUMNS = 100
MAX_DEPTH = 6
EVERYTHING = "everything"
PARTS = ("hlo/text", "hlo/wire")  # libraries with rows of their own, each a header and a folder: hlo/text.h and hlo/text/
PROGRAM_FOLDERS = ("tools", "examples", "bench", "tests")
SEPARATE_FOLDERS = ("codegen/jit/llvm", "pjrt/mock")  # libraries inside of another one's folder
PRIVATE_NAME = re.compile(r"(?:struct|class|enum class) (\w+)(?= final\b| *[:{]|$)|(?:inline |static )*constexpr [^=({]*?\b(k[A-Z]\w*) *[\[={,;]")
HIDDEN_PACKAGES = ("absl/", "Eigen/", "unsupported/", "llvm/", "google/protobuf/")


@dataclass
class SourceFile:
    lines: int = 0
    includes: list = field(default_factory=list)  # (path as written between the quotes, line)
    long_lines: list = field(default_factory=list)  # those of more than MAX_COLUMNS
    private_names: list = field(default_factory=list)  # (type or constant of an unnamed namespace, line)
    types: header_types.Types = field(default_factory=header_types.Types)


def is_header(path):
    return path.endswith((".h", ".def"))


def is_test(path):
    return path.endswith(("_test.cc", "_test.h"))


def is_internal(path):
    return "/internal/" in path or path.startswith(("hlo/ops/", "interpreter/ops/"))


def top_of(path):
    """hlo of hlo/ops/contraction/dot.cc; nothing of heddle.h."""
    return path.split("/")[0] if "/" in path else ""


def folder_of(path):
    """The folder that has a row of the table: hlo/text of hlo/text.h and hlo/text/print.cc, else the top one."""
    return next((part for part in PARTS if path.startswith((part + "/", part + "."))), top_of(path))


def row_of(item, table):
    """The row that a cell of the table names: hlo/text, and scan of scan/lower."""
    return item if item in table else item.split("/")[0]


def is_public(path):
    return is_header(path) and not is_internal(path) and not is_test(path) and top_of(path) not in PROGRAM_FOLDERS


def is_generated(path):
    return path.endswith(".pb.h")


def library_of(path):
    """What is compiled in one piece: files of it may not use a name of an unnamed namespace twice."""
    return next((folder for folder in SEPARATE_FOLDERS if path.startswith(folder + "/")), folder_of(path))


def own(include):
    """The path in the tree of an include of our own; nothing for one of another package."""
    return include.removeprefix("heddle/") if include.startswith("heddle/") else ""


def own_includes(tree):
    for path, file in sorted(tree.items()):
        for include, line in file.includes:
            yield path, own(include), f"{path}:{line}: includes {include}"


def parse_source(text):
    file = SourceFile(types=header_types.parse_types(text))
    in_raw_string = in_unnamed_namespace = False
    for number, line in enumerate(text.split("\n")[: text.count("\n") + (not text.endswith("\n"))], 1):
        file.lines = number
        begins_in_one = in_raw_string
        for mark in re.findall(r'R"\(|\)"', line):  # of raw strings without a word of their own
            in_raw_string = mark == 'R"(' if not in_raw_string else mark != ')"'
        # A program in a raw string is written as its language has it.
        if len(line) > MAX_COLUMNS and not begins_in_one and not in_raw_string:
            file.long_lines.append(number)
        if include := re.match(r'\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>)', line):
            file.includes.append((include[1] or include[2], number))
        if line in ("namespace {", "}  // namespace"):
            in_unnamed_namespace = line == "namespace {"
        elif in_unnamed_namespace and not begins_in_one and (name := PRIVATE_NAME.match(line)):
            file.private_names.append((name[1] or name[2], number))
    return file


def read_source_tree(root="."):
    """All *.h, *.cc and *.def of the folders that hold code, and the headers at the top."""
    tree = {}
    for folder, folders, files in os.walk(root):
        if folder == root:
            folders[:] = [name for name in folders if name != "build" and not name.startswith(".")]
        for name in files:
            if name.endswith((".h", ".cc", ".def")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as text:
                    tree[os.path.relpath(path, root)] = parse_source(text.read())
    return tree


def parse_layer_table(markdown):
    """The table under "may include" of docs/architecture.md."""
    table = {}
    for line in markdown.split("\n"):
        cells = line.rstrip().removesuffix("|").split("|")  # nothing, folders, what lives there, may include
        if len(cells) != 4:
            continue
        for folder in cells[1].split():
            if folder.endswith("/"):
                table[folder[:-1]] = set(cells[3].split())
    return table


def parse_cmake_links(cmake):
    """The folders in the DEPS of each heddle_library(...) of CMakeLists.txt."""
    links = {}
    for call in re.findall(r"^heddle_library\(([^)]*)\)", cmake, re.M):
        name, *words = call.split()
        links[name] = {word for word in words if not re.search("[:$]", word) and word not in ("DEPS", "PRIVATE")}
    return links


class Walk:
    """Finds paths of a graph that lead back to where they began, and the longest one from each node."""

    def __init__(self, edges):
        self.edges, self.known, self.path, self.found = edges, {}, [], []

    def depth(self, node):
        if node in self.known:
            return self.known[node]
        self.path.append(node)
        deepest = 0
        for to in sorted(self.edges.get(node, ())):
            if to in self.path:
                self.found.append(f"{node} comes back to {to}")
            else:
                deepest = max(deepest, 1 + self.depth(to))
        self.path.pop()
        self.known[node] = deepest
        return deepest

    def cycles(self):
        for node in sorted(self.edges):
            self.depth(node)
        return self.found


def header_edges(tree, within_folders=False):
    edges = {}
    for path, to, _ in own_includes(tree):
        if is_header(path) and to in tree and (not within_folders or folder_of(path) == folder_of(to)):
            edges.setdefault(path, set()).add(to)
    return edges


def may_include(folder, header, table):
    def allows(item):
        return item == EVERYTHING or folder_of(header) == item or ("/" in item and header.startswith(item))

    return folder_of(header) == folder or any(map(allows, table[folder]))


def is_umbrella_within(folder, header, tree, table):
    """A unit test may say heddle/testing.h where the folder may include all that this header does."""
    if folder_of(header) or header not in tree:
        return False
    return all(not own(include) or may_include(folder, own(include), table) for include, _ in tree[header].includes)


def is_oracle(folder, header):
    """Unit tests above hlo/ run what they make on the interpreter, whichever way their folder lies."""
    return folder not in ("base", "hlo") and folder_of(header) == "interpreter" and is_public(header)


def is_text_of_module(header):
    """Unit tests read and print modules, and those of hlo/ are one program with those of its parts."""
    return folder_of(header) in PARTS and is_public(header)


def folders_without_row(tree, table):
    return sorted({folder_of(path) for path in tree} - {""} - set(table))


def folders_in_cycles(table):
    return Walk({folder: {row_of(item, table) for item in row if item != EVERYTHING} for folder, row in table.items()}).cycles()


def links_off_the_table(links, table):
    return [f"{folder}: DEPS in CMakeLists.txt differs from docs/architecture.md" for folder, to in sorted(links.items())
            if to != {row_of(item, table) for item in table.get(folder, ())}]


def includes_off_the_table(tree, table):
    breaches = []
    for path, to, where in own_includes(tree):
        folder = folder_of(path)
        if folder not in table or not to or may_include(folder, to, table):
            continue  # folders_without_row says so; the top may include everything
        if not (is_test(path) and (is_umbrella_within(folder, to, tree, table) or is_oracle(folder, to) or is_text_of_module(to))):
            breaches.append(f"{where}; {folder}/ may not")
    return breaches


def includes_not_found(tree):
    breaches = []
    for path, file in sorted(tree.items()):
        for include, line in file.includes:
            beside = os.path.join(os.path.dirname(path), include)
            to = own(include)
            if to not in tree and not is_generated(to) if to else include in tree or beside in tree:
                breaches.append(f"{path}:{line}: includes {include}; ours are spelled heddle/FOLDER/FILE.h")
    return breaches


def headers_in_cycles(tree):
    return Walk(header_edges(tree)).cycles()


def hidden_packages_in_public_headers(tree):
    def hides(path, include):
        converts = path == "base/absl_status.h" and include.startswith("absl/")
        return not converts and (is_generated(include) or include.startswith(HIDDEN_PACKAGES))

    return [f"{path}:{line}: includes {include}" for path, file in sorted(tree.items()) if is_public(path)
            for include, line in file.includes if hides(path, include)]


def internal_headers_included_from_outside(tree):
    return [where for path, to, where in own_includes(tree)
            if is_internal(to) and (is_public(path) or top_of(to) != top_of(path))]


def public_headers_too_deep(tree):
    walk = Walk(header_edges(tree, within_folders=True))
    return [f"{path} stands on {walk.depth(path)} levels of headers of its folder" for path in sorted(tree)
            if is_public(path) and walk.depth(path) > MAX_DEPTH]


def sources_that_do_not_include_their_header_first(tree):
    return [path for path, file in sorted(tree.items()) if path.endswith(".cc") and path[:-2] + "h" in tree
            and (not file.includes or own(file.includes[0][0]) != path[:-2] + "h")]


def types_not_included(tree):
    edges = header_edges(tree)
    reached = {}
    for path in filter(lambda path: path.endswith(".h"), tree):
        reached[path], todo = {path}, [path]
        while todo:
            new = edges.get(todo.pop(), set()) - reached[path]
            reached[path] |= new
            todo += new
    return header_types.types_not_included({path: file.types for path, file in tree.items()}, reached)


def lines_too_long(tree):
    return [f"{path}:{line}: has more than {MAX_COLUMNS} columns" for path, file in sorted(tree.items()) for line in file.long_lines]


def files_too_long(tree):
    return [f"{path} has {file.lines} lines" for path, file in sorted(tree.items()) if file.lines > MAX_LINES]


def private_names_used_twice(tree):
    first, breaches = {}, []
    for path, file in sorted(tree.items()):
        if not path.endswith(".cc") or is_test(path) or folder_of(path) in ("examples", "bench", "tests"):
            continue
        for name, line in file.private_names:
            before = first.setdefault((library_of(path), name), path)
            if before != path:
                breaches.append(f"{path}:{line}: {name} is a name in {before} too")
    return breaches
