// The blocks behind a module's first line: FileNames, FunctionNames, FileLocations, StackFrames.
// Metadata names a frame by its number; entries of every block count from 1, and 0 is none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/base/text/text_cursor.h"

namespace heddle::hlo::text {

struct Frames {
  struct Location {
    int64_t file_name_id = 0;
    int64_t function_name_id = 0;
    int64_t line = 0;
    int64_t end_line = 0;
    int64_t column = 0;
    int64_t end_column = 0;
  };
  struct Frame {
    int64_t file_location_id = 0;
    int64_t parent_frame_id = 0;  // in text one more
  };
  std::vector<std::string> file_names;
  std::vector<std::string> function_names;
  std::vector<Location> locations;
  std::vector<Frame> frames;
};

// Reads the blocks that stand here, none or all, up to `end`, the place behind the last entry.
// errors: entries out of order, keys that are not known, numbers that are no int32
bool read_frames(TextCursor& in, Frames& frames, size_t& end);

// As XLA writes them; empty for no entries. Reads back as equal frames.
std::string print_frames(const Frames& frames);

}  // namespace heddle::hlo::text
