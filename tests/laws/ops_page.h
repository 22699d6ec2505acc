// docs/ops.md, from the definitions: functions from the public headers and from traced calls of
// them, opcodes from hlo/opcodes.def, their OpDefs and the table of samples.
#pragma once

#include <string>
#include <vector>

namespace heddle::laws {

// The page's text.
std::string ops_page();

// What keeps the page from being whole, one sentence each: functions without a comment or a sample,
// samples of functions that there are not.
std::vector<std::string> ops_page_gaps();

}  // namespace heddle::laws
