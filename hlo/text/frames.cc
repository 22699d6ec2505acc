#include "heddle/hlo/text/internal/frames.h"

#include <span>

#include "heddle/hlo/text/internal/values.h"

namespace heddle::hlo::text {
namespace {

using Location = Frames::Location;
using Frame = Frames::Frame;

template <class Struct>
struct Member {
  std::string_view name;
  int64_t Struct::*member;
  int64_t offset = 0;  // of the number in the text
};

// In printed order.
constexpr Member<Location> kLocation[] = {{"file_name_id", &Location::file_name_id},
                                          {"function_name_id", &Location::function_name_id},
                                          {"line", &Location::line},
                                          {"end_line", &Location::end_line},
                                          {"column", &Location::column},
                                          {"end_column", &Location::end_column}};
constexpr Member<Frame> kFrameMembers[] = {{"file_location_id", &Frame::file_location_id},
                                           {"parent_frame_id", &Frame::parent_frame_id, 1}};

template <class Struct>
bool read_struct(TextCursor& in, std::span<const Member<Struct>> members, Struct& value) {
  return read_pairs(in, [&](std::string_view name) {
    for (const Member<Struct>& member : members) {
      if (member.name != name) continue;
      size_t at = in.position();
      int64_t number = 0;
      if (!in.read_int(number)) return false;
      if (number < member.offset || number - member.offset > INT32_MAX) {
        return in.fail_at(at, base::invalid_argument(name, " is ", number, "; it must be at least ",
                                                     member.offset, " and fit 32 bits"));
      }
      value.*(member.member) = number - member.offset;
      return true;
    }
    return in.fail("frames have no ", name.substr(0, 60));
  });
}

template <class Struct>
void write_struct(std::string& out, std::span<const Member<Struct>> members, const Struct& value) {
  for (const Member<Struct>& member : members) {
    base::append(out, &member == members.data() ? "{" : " ", member.name, "=",
                 value.*(member.member) + member.offset);
  }
  out.push_back('}');
}

// The word, then its entries, each behind its number.
template <class ReadEntry>
bool read_block(TextCursor& in, size_t& end, ReadEntry read_entry) {
  in.word();
  end = in.raw_position();
  for (int64_t next = 1; in.peek() >= '0' && in.peek() <= '9'; ++next) {
    size_t at = in.position();
    int64_t number = 0;
    if (!in.read_int(number)) return false;
    if (number != next)
      return in.fail_at(at,
                        base::invalid_argument("entry ", number, " stands where ", next, " must"));
    if (!read_entry()) return false;
    end = in.raw_position();
  }
  return !in.failed();
}

template <class Entry, class WriteEntry>
void write_block(std::string& out, std::string_view name, const std::vector<Entry>& entries,
                 WriteEntry write_entry) {
  base::append(out, out.empty() ? "" : "\n", name, "\n");
  for (size_t i = 0; i < entries.size(); ++i) {
    base::append(out, i + 1, " ");
    write_entry(entries[i]);
    out.push_back('\n');
  }
}

}  // namespace

bool read_frames(TextCursor& in, Frames& frames, size_t& end) {
  while (true) {
    const std::string_view block = in.peek_word();
    bool good = true;
    if (block == "FileNames") {
      good = read_block(in, end, [&] { return in.read_string(frames.file_names.emplace_back()); });
    } else if (block == "FunctionNames") {
      good =
          read_block(in, end, [&] { return in.read_string(frames.function_names.emplace_back()); });
    } else if (block == "FileLocations") {
      good = read_block(in, end, [&] {
        return read_struct<Location>(in, kLocation, frames.locations.emplace_back());
      });
    } else if (block == "StackFrames") {
      good = read_block(in, end, [&] {
        return read_struct<Frame>(in, kFrameMembers, frames.frames.emplace_back());
      });
    } else {
      return !in.failed();
    }
    if (!good) return false;
  }
}

std::string print_frames(const Frames& frames) {
  std::string out;
  if (frames.file_names.empty() && frames.function_names.empty() && frames.locations.empty() &&
      frames.frames.empty()) {
    return out;
  }
  write_block(out, "FileNames", frames.file_names,
              [&](const std::string& name) { append_quoted(out, name); });
  write_block(out, "FunctionNames", frames.function_names,
              [&](const std::string& name) { append_quoted(out, name); });
  write_block(out, "FileLocations", frames.locations,
              [&](const Location& location) { write_struct<Location>(out, kLocation, location); });
  write_block(out, "StackFrames", frames.frames,
              [&](const Frame& frame) { write_struct<Frame>(out, kFrameMembers, frame); });
  out.pop_back();
  return out;
}

}  // namespace heddle::hlo::text
