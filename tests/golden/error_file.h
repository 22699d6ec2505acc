// Golden error files: programs with a mistake, each with the message that its user reads on the
// line that is wrong.
//
//   // What concatenate refuses.                                  the head
//
//   // verify   tag: concatenate_of_other_size                    a case: its tag ..
//   a = f32[2,3] parameter(0)                                     .. and a module, or the lines
//   b = f32[4,3] parameter(1)                                     of one computation
//   // error: concatenate: operand 1 is ..
#pragma once

#include <string>
#include <vector>

#include "heddle/base/status.h"

namespace heddle::golden {

struct ErrorCase {
  std::string tag;
  std::string text;      // the program, without the message
  std::string expected;  // the program with the message, as in the file
};

struct ErrorFile {
  std::string path;
  std::string head;
  std::vector<ErrorCase> cases;
};

StatusOr<ErrorFile> read_errors(const std::string& path);

// The program with the message that reading it gives, on the line that the message names; the
// program alone, where it is read without one.
std::string with_error(const std::string& text);

// The messages in such texts.
std::vector<std::string> messages_in(const std::string& text);

// Writes the file with what with_error() gives.
Status write_errors(const ErrorFile& file);

}  // namespace heddle::golden
