"""The types that headers define and say, by namespace. A unity build and a precompiled header hide that a header leans on another one's includes."""
import re
from dataclasses import dataclass, field

NO_CODE = re.compile(r'R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|//(?! namespace)[^\n]*|/\*.*?\*/', re.S)
SHORT_NAMESPACE = re.compile(r"^(namespace [\w:]+ \{\n(?:[^\n{}]*;[^\n{}]*\n)+\})$", re.M)  # of a declaration or two
TYPE = re.compile(r"(?:template *<.*> *)?(?:class|struct|enum class|enum|using) +(?:\[\[.*?\]\] *)?([A-Z]\w*)( *;)?")
# What a function or a class may call a type of its own; the whole of a template's parameters too.
INNER_TYPE = re.compile(r"(?:class|struct|enum|using|typedef|typename|\.\.\.|std::\w+|auto) *(?:class +|Index +)?([A-Z]\w*)")
SAID = re.compile(r"(?<![\w:.])(?:(\w+)::)?([A-Z]\w*)")


@dataclass
class Types:
    defined: set = field(default_factory=set)  # (namespace, type)
    named: set = field(default_factory=set)  # those, and the ones that are only declared
    said: set = field(default_factory=set)  # (namespaces around, namespace as written, type)


def parse_types(text):
    """The project's namespaces are not indented, and tell their end unless they are short: `}  // namespace`."""
    types, around = Types(), []
    code = SHORT_NAMESPACE.sub(r"\1  // namespace", NO_CODE.sub("", text))
    inner = set(INNER_TYPE.findall(code))
    for line in code.split("\n"):
        if opened := re.match(r"(?:inline )?namespace *([\w:]*) *\{", line):
            around.append(opened[1] or "unnamed")
        elif line.startswith("}  // namespace"):
            around.pop()
        elif of_type := TYPE.match(line):
            types.named.add(("::".join(around), of_type[1]))
            if not of_type[2]:
                types.defined.add(("::".join(around), of_type[1]))
        types.said |= {("::".join(around), space, name) for space, name in SAID.findall(line) if space or name not in inner}
    return types


def spaces_around(around):
    """heddle::cpu, then heddle, of heddle::cpu."""
    parts = around.split("::")
    return ["::".join(parts[:count]) for count in range(len(parts), 0, -1)]


def types_not_included(types, reached):
    """One line for each type that a header says and nothing that it includes names. `types` maps a path to its Types, `reached` to itself and all it includes."""
    defined_in = {}
    for path in reached:
        for key in types[path].defined:
            defined_in.setdefault(key, set()).add(path)
    breaches = set()
    for path in reached:
        for around, space, name in types[path].said:
            keys = [(outer + "::" * bool(space) + space, name) for outer in spaces_around(around)]
            key = next((key for key in keys if key in defined_in), None)
            if key and not any(key in types[at].named for at in reached[path] for key in keys):
                breaches.add(f"{path}: says {name} without an include of {' or '.join(sorted(defined_in[key]))}")
    return sorted(breaches)
