// Modules as pictures in one file: a page for a browser, with nothing to install or to load.
//
//   heddle opt step.hlo --to html -o step.html
#pragma once

#include <string>

#include "heddle/hlo/module.h"

namespace heddle::hlo {

// Returns a page. A computation is a picture: values flow downwards, an instruction is a box with
// its name, type and op, and with its line and attributes where the pointer rests on it. The entry
// is open; bodies of loops, branches and functions are folded, and a box that calls one links to
// it. Any name or text of a module is escaped.
// cost: n log n in the instructions
std::string print_html(const Module& module);

}  // namespace heddle::hlo
