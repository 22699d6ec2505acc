"""The functions of the public headers, read from their text: a parser of our own header style and no other (clang-format's layout; comments
before a declaration, or behind it on its last line). A comment is of the declaration that follows and of its overloads; no other takes it.

`public_functions.py trace scan`: the headers that heddle.h includes from these folders, in its order, a line each, "path<TAB>summary", and
below it a line for each free function of its public namespaces, "name<TAB>signature<TAB>summary".
"""
import re
import sys

TYPE = re.compile(r"\s*(template <.*>\s*)?(struct|class|enum|union)\b")
NO_FUNCTION = re.compile(r"(using|constexpr|extern|friend|concept)\b|.*(concept |SizesApart|MisplacedShape)|\w+\(.*\) ?-> ?")
TERM = r"(\([^()]*\)|[\w:]+<[^<>]*>|\S+)"
FOR_WHO_CALLS = (  # what a signature shows in place of what stands there
    (r"\bbase::Int\b", "int64_t"), (r"\bconst base::Ints&", "Ints"), (r"\bbase::Flag\b", "bool"), (r"\bKeep keep_dims\b", "bool keep_dims"),
    (r"^requires ?\(sizeof\.\.\.\(\w+\) > \d\) ", ""), (rf"^requires ?{TERM}( (&&|\|\|) {TERM})* ", ""), (r"^(\[\[nodiscard\]\] |inline |constexpr )+", ""), (";$", ""),
    (r",? ?SourceLocation (at|location)( = SourceLocation::here\(\))?(?=\))", ""))


def first_sentence(comment):
    """Up to the end of the first sentence, or to the first of a docstring's headings. Dots of ".." end none."""
    text = re.split(r"(?:^|\s)(?:source|errors|cost|returns): ", comment.strip())[0].strip() + " "
    end = re.search(r"[^.]\.\s", text)
    return (text[: end.start() + 1] if end else text).strip().rstrip(".:;")


def without_template(text):
    depth = 0
    for i, c in enumerate(text if text.startswith("template <") else ""):
        depth += (c == "<") - (c == ">")
        if c == ">" and depth == 0:
            return text[i + 1 :].strip()
    return text


def declaration(lines, at):
    """The text up to the ; or { that ends a declaration, its body, the comment behind it, and where the next one begins."""
    first, text, inside, behind, round_, curly, body, done = at, "", "", "", 0, 0, False, False
    while at < len(lines) and not done:
        line, slashes, comment = lines[at].partition("//")
        behind = comment.strip() if slashes else behind
        at += 1
        for c in line:
            round_ += (c == "(") - (c == ")")
            if c == "{" and round_ == 0:
                body, curly = True, curly + 1
            if body:
                inside += c
            else:
                text += c
            if c == "}" and round_ == 0:
                curly -= 1
                done = done or curly == 0 and not TYPE.match(text)
            done = done or c == ";" and round_ == 0 and curly == 0
        text += " "
    is_one_line = at == first + 1
    while at < len(lines) and re.match(" {8,}//", lines[at]):
        behind += " " + lines[at].partition("//")[2].strip()
        at += 1
    return " ".join(text.split()), inside, "" if body and not is_one_line else behind, at


def function_of(text):
    """The name and the signature, where the declaration is of a function."""
    if TYPE.match(text) or NO_FUNCTION.match(text):
        return None
    text = without_template(text)
    if NO_FUNCTION.match(text):
        return None
    for pattern, with_ in FOR_WHO_CALLS:
        text = re.sub(pattern, with_, text)
    name = re.search(r"([\w:]+)\(", text)
    return None if not name or "::" in name[1] or name[1] == "operator" else (name[1], text.strip())


def parse_header(header):
    """The first sentence of its first comment, and a (name, signature, first sentence) for each function."""
    lines, at, summary, functions, seen, spaces, comment, owner = header.split("\n"), 0, "", [], set(), [], "", ""
    while at < len(lines):
        line = lines[at]
        if not line.strip() or line.startswith("#"):
            summary = summary or first_sentence(comment)
            comment = owner = ""
            while lines[at].endswith("\\"):
                at += 1
            at += 1
        elif line.startswith("//"):
            comment, owner, words = "" if owner else comment, "", line[2:].strip()
            if words:
                comment += (" " if comment else "") + words
            else:  # a paragraph ends a sentence
                comment += " " if comment.endswith(".") else ". "
            at += 1
        elif space := re.fullmatch(r"namespace (\S+) \{.*", line):
            spaces.append(space[1])
            at += 1
        elif line.startswith("}  // namespace"):
            spaces.pop()
            at += 1
        else:
            text, inside, behind, at = declaration(lines, at)
            is_public = len(spaces) == 1 and "internal" not in spaces[0] and "static_assert(!sizeof(" not in inside
            if is_public and (function := function_of(text)):
                name, signature = function
                owner = owner or name
                bare = re.sub(r" = [^,()]+(\(\))?(?=[,)])", "", signature)  # a definition after its declaration
                if bare not in seen:
                    space = "" if spaces[0] == "heddle" else spaces[0].removeprefix("heddle::") + "::"
                    functions.append((space + name, signature, first_sentence(behind or (comment if owner == name else ""))))
                seen.add(bare)
            owner = owner or "no function"
    return summary, functions


def public_headers(folders):
    with open("heddle.h", encoding="utf-8") as umbrella:
        for path, folder in re.findall(r'^#include "heddle/((\w+)/.*)"$', umbrella.read(), re.M):
            if folder in folders:
                with open(path, encoding="utf-8") as header:
                    yield path, *parse_header(header.read())


if __name__ == "__main__":
    for path, summary, functions in public_headers(sys.argv[1:]):
        print(path, summary, sep="\t")
        for function in functions:
            print(*function, sep="\t")
