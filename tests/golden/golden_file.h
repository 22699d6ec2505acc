// Golden files: the input of a pass and its whole output. Those of errors are in error_file.h.
//
//   // pass: simplify   rule: transpose-of-transpose
//   <module>
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

std::vector<std::string> lines_of(const std::string& text);

struct GoldenFile {
  std::string path;
  std::string head;    // the comment lines at the top, as they are
  std::string passes;  // the names after "pass:"
  std::string input;
  std::string expected;  // the text behind "// ----- becomes"
};

// Returns every *.hlo below the folder, sorted.
std::vector<std::string> golden_paths(const std::string& folder);

StatusOr<GoldenFile> read_golden(const std::string& path);

// UPDATE_GOLDEN=1: tests write what they find into their files, for review.
bool updating();

// The text is the lines of a single computation.
bool is_lines_alone(const std::string& text);

// Reads a module, or the lines of a single computation.
StatusOr<hlo::Module> parse_golden(const std::string& text);

// Returns the module as golden files write it: short form, without header; one computation as its
// lines alone.
std::string print_golden(const hlo::Module& module);

// Writes the file with another expectation.
Status write_golden(const GoldenFile& file, const std::string& expected);

}  // namespace heddle::golden
