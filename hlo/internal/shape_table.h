// The table of all shapes in use. Private to hlo/shape.cc and its test.
//
// The first kMostPermanent arrays and tokens of a process, of few dimensions and without a layout,
// and tuples of few of them, are never freed: what a program computes with is among them, it is
// found without a lock, and its copies count nothing, so that threads that trace share only what
// none of them writes. All others are counted, and leave the table with their last handle; a lock
// guards them, one of many.
// The first ones are those of a program that builds its model first. A process that reads a large
// foreign file before spends the places on that file's shapes; its own shapes are then counted,
// which is slower where many threads trace and is right all the same.
#pragma once

#include <memory>
#include <span>

#include "heddle/hlo/shape.h"

namespace heddle {

// What makes a shape the one it is; views.
struct Shape::Parts {
  DType dtype = DType::kInvalid;
  uint64_t dynamic = 0;
  std::span<const int64_t> dimensions = {};
  std::span<const Shape> elements = {};
  const Layout* layout = nullptr;  // null: row-major
};

class ShapeTable {
 public:
  static constexpr size_t kMostPermanent = 4096;

  // The record of these parts, with a handle of the caller's.
  static const Shape::Record* record_of(const Shape::Parts& parts);
  // Takes back the handle that may be the last.
  static void drop(const Shape::Record* record);
  // How many shapes are counted.
  static size_t counted_shapes();

 private:
  struct Key;
  struct SameParts;
  struct Shard;
  static uint64_t hash_of(const Shape::Parts& parts);
  static Shard& shard_of(uint64_t hash);
  static const Shape::Record* find_permanent(const Key& key);
  static const Shape::Record* find_in(const Shard& shard, const Key& key);
  static bool may_be_permanent(std::span<const Shape> elements);
  static bool make_permanent(const Shape::Record* record);
  static std::unique_ptr<Shape::Record> make(const Key& key);
  static void measure(Shape::Record& record);
  static void set_type(Shape::Record& record);
};

}  // namespace heddle
