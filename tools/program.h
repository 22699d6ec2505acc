// A program from a file, whatever form it is in.
#pragma once

#include <optional>
#include <string>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/tools/conformance/pack.h"

namespace heddle::tools {

struct Program {
  hlo::Module module;
  std::optional<conformance::Case> from_case;  // with arguments and the expected result
};

// Reads HLO text, HloModuleProto, HloProto, HloSnapshot, or a case of a pack: `pack.cases.gz#name`.
// The name is optional if the pack has only one case. The bytes tell the form.
// errors: NotFound; the reader's
StatusOr<Program> load_program(const std::string& path);

// The bytes of a file.
StatusOr<std::string> read_file(const std::string& path);
// errors: Unavailable if the file cannot be written
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace heddle::tools
