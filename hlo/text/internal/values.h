// The text of attribute values: one codec for each C++ type that fields of attributes have
// (hlo/attributes.h) and for what every instruction may carry.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/base/text/text_cursor.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/internal/text_items.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo::text {

template <class T>
struct Codec;

// A macro, since every type has the same two functions.
#define HEDDLE_CODEC(...)                                          \
  template <>                                                      \
  struct Codec<__VA_ARGS__> {                                      \
    static void write(std::string& out, const __VA_ARGS__& value); \
    static bool read(TextCursor& in, __VA_ARGS__& value);          \
  }

HEDDLE_CODEC(bool);
HEDDLE_CODEC(int64_t);
HEDDLE_CODEC(float);
HEDDLE_CODEC(std::string);                  // "quoted"
HEDDLE_CODEC(Dims);                         // {1,0}
HEDDLE_CODEC(std::vector<bool>);            // {true,false}
HEDDLE_CODEC(std::vector<Dims>);            // {{0,1},{2,3}}
HEDDLE_CODEC(std::vector<Precision>);       // {default,high}
HEDDLE_CODEC(std::vector<SliceDimension>);  // {[0:3], [1:8:2]}
HEDDLE_CODEC(std::vector<PadDimension>);    // 0_1x0_1_2
HEDDLE_CODEC(std::vector<OperandAlias>);    // {{0}: (1, {})}
HEDDLE_CODEC(std::vector<SourceTarget>);    // {{0,1},{1,0}}
HEDDLE_CODEC(std::vector<Shape>);           // {f32[2]{0}, s32[]}
HEDDLE_CODEC(Shape);                        // f32[2]{0}
HEDDLE_CODEC(Literal);                      // f32[2]{0} {1, 2}
HEDDLE_CODEC(Window);                       // {size=3x3 pad=0_1x0_1}
HEDDLE_CODEC(ConvolutionDims);              // b01f_01io->b01f
HEDDLE_CODEC(ReplicaGroups);                // {{0,1},{2,3}} [2,2]<=[4]
HEDDLE_CODEC(Sharding);                     // {devices=[2,2]<=[4]}
HEDDLE_CODEC(DomainAttrs);                  // {kind="sharding", entry={replicated}, exit={manual}}
HEDDLE_CODEC(Metadata);                     // {op_name="jit(f)/add" source_line=3}
HEDDLE_CODEC(FrontendAttributes);           // {key="value",other={raw}}
#undef HEDDLE_CODEC

// The number of the enumerator with this name, or -1.
int find_name(std::string_view name, const std::string_view* names, size_t count);
bool fail_enum(TextCursor& in, const std::string_view* names, size_t count);

template <class T>
requires std::is_enum_v<T>
struct Codec<T> {
  static constexpr size_t kCount = std::size(EnumText<T>::kNames);
  static void write(std::string& out, T value) {
    out.append(static_cast<size_t>(value) < kCount ? enum_text(value) : "?");
  }
  static bool read(TextCursor& in, T& value) {
    int found = find_name(in.peek_word(), EnumText<T>::kNames, kCount);
    if (found < 0) return fail_enum(in, EnumText<T>::kNames, kCount);
    value = static_cast<T>(found);
    return in.accept_word(enum_text(value));
  }
};

template <class T>
struct Codec<base::Box<T>> {
  static void write(std::string& out, const base::Box<T>& value) { Codec<T>::write(out, *value); }
  static bool read(TextCursor& in, base::Box<T>& value) {
    return Codec<T>::read(in, value.mutate());
  }
};

// Text that stands raw where it is a group in braces, and quoted where it is not: backend_config,
// frontend attributes.
void write_raw_or_quoted(std::string& out, std::string_view value);
bool read_raw_or_quoted(TextCursor& in, std::string& value);
// A group in braces, kept with them.
bool read_group(TextCursor& in, std::string& value);

// name=value pairs, separated by blanks or commas, up to '}', which is read too. The names of a
// group are distinct.
template <class ReadPair>
bool read_pairs(TextCursor& in, ReadPair read_pair) {
  if (!in.expect('{')) return false;
  std::vector<std::string_view> seen;
  seen.reserve(8);
  while (!in.accept('}')) {
    if (!seen.empty()) in.accept(',');
    std::string_view name = in.word();
    if (name.empty()) return in.fail_expected("name=");
    for (std::string_view other : seen) {
      if (other == name) return in.fail(name, " stands here twice");
    }
    seen.push_back(name);
    if (!in.expect('=') || !read_pair(name)) return false;
  }
  return true;
}

}  // namespace heddle::hlo::text
