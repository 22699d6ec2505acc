// Where an instruction came from: XLA's OpMetadata.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::hlo {

// Where an instruction came from. Never part of equality or hashes.
struct Metadata {
  std::string op_type;
  std::string op_name;
  std::string source_file;
  int64_t source_line = 0;
  int64_t source_end_line = 0;
  int64_t source_column = 0;
  int64_t source_end_column = 0;
  int64_t stack_frame_id = 0;
  std::string deduplicated_name;
  std::string scheduling_name;
  std::vector<int64_t> profile_type;
  std::string unknown_proto;  // serialised fields of OpMetadata that are not above
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

}  // namespace heddle::hlo
