// Golden files: the input of a pass and its whole output, or a module that does not verify and the
// error on the line that is wrong.
//
//   // pass: simplify   rule: transpose-of-transpose          // verify   tag: concatenate_c2
//   <module>                                                  <module, one line of which ends in //
//   error: the message>
//   // ----- becomes
//   <module>
//
// A module of one computation may stand as its lines alone.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::golden {

struct GoldenFile {
  std::string path;
  std::string head;    // the comment lines at the top, as they are
  std::string passes;  // the names after "pass:"; empty: the file expects an error
  std::string input;
  std::string expected;  // the text behind "// ----- becomes"
  std::string error;     // the text behind "// error:"
  int error_line = 0;    // the line of the file that it stands on, counted from 1
};

// Returns every *.hlo below the folder, sorted.
std::vector<std::string> golden_paths(const std::string& folder);

StatusOr<GoldenFile> read_golden(const std::string& path);

// Reads a module, or the lines of a single computation.
StatusOr<hlo::Module> parse_golden(const std::string& text);

// Returns the module as golden files write it: short form, without header; one computation as its
// lines alone.
std::string print_golden(const hlo::Module& module);

// Writes the file with another expectation.
Status write_golden(const GoldenFile& file, const std::string& expected);

}  // namespace heddle::golden
