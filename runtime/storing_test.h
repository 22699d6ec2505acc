// For tests of programs on disk: files as bytes, and programs in text.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace heddle::runtime {

inline std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_anew(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::remove(path);  // a new file waits for no disk
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), bytes.size());
  chmod(path.c_str(), 0600);
}

inline constexpr char kEndless[] = R"(HloModule endless
  body { p = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0
    x = f32[4] get-tuple-element(p), index=1 y = f32[4] add(x, x)
    ROOT t = (s32[], f32[4]) tuple(i, y) }
  condition { p = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0
    zero = s32[] constant(0) ROOT c = pred[] compare(i, zero), direction=EQ }
  ENTRY main { i = s32[] parameter(0) x = f32[4] parameter(1) t = (s32[], f32[4]) tuple(i, x)
    forever = (s32[], f32[4]) while(t), condition=condition, body=body,
      metadata={source_file="some/train.cc" source_line=41}
    ROOT r = f32[4] get-tuple-element(forever), index=1 })";

inline constexpr char kSum[] = R"(HloModule sum
  ENTRY main { x = f32[64] parameter(0) y = f32[64] parameter(1) s = f32[64] add(x, y)
    ROOT t = f32[64] multiply(s, y) })";

inline constexpr char kSineLoop[] = R"(HloModule loop
  body { p = (s32[], f32[16]) parameter(0) i = s32[] get-tuple-element(p), index=0
    x = f32[16] get-tuple-element(p), index=1 y = f32[16] sine(x) one = s32[] constant(1)
    j = s32[] add(i, one) ROOT t = (s32[], f32[16]) tuple(j, y) }
  condition { p = (s32[], f32[16]) parameter(0) i = s32[] get-tuple-element(p), index=0
    n = s32[] constant(1000) ROOT c = pred[] compare(i, n), direction=LT }
  ENTRY main { x = f32[16] parameter(0) i = s32[] constant(0) t = (s32[], f32[16]) tuple(i, x)
    r = (s32[], f32[16]) while(t), condition=condition, body=body
    ROOT y = f32[16] get-tuple-element(r), index=1 })";

}  // namespace heddle::runtime
