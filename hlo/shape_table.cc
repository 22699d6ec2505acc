#include "heddle/hlo/internal/shape_table.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "heddle/base/arithmetic.h"

namespace heddle {

struct ShapeTable::Key {
  const Shape::Parts& parts;
  uint64_t hash;
};

// Hashes and compares records with each other and with what a record is looked for by.
struct ShapeTable::SameParts {
  using is_transparent = void;
  size_t operator()(const Key& key) const { return key.hash; }
  size_t operator()(const Shape::Record* record) const { return record->table_hash; }
  bool operator()(const Shape::Record* a, const Shape::Record* b) const { return a == b; }
  bool operator()(const Key& key, const Shape::Record* record) const {
    const Shape::Parts& parts = key.parts;
    return key.hash == record->table_hash && parts.dtype == record->dtype &&
           parts.dynamic == record->dynamic &&
           std::ranges::equal(parts.dimensions, record->dimensions) &&
           std::ranges::equal(parts.elements, record->elements) &&
           (parts.layout == nullptr
                ? !record->layout.has_value()
                : record->layout.has_value() && *parts.layout == record->layout.get());
  }
  bool operator()(const Shape::Record* record, const Key& key) const {
    return (*this)(key, record);
  }
};

struct ShapeTable::Shard {
  std::mutex mutex;
  std::unordered_set<const Shape::Record*, SameParts, SameParts> counted;
};

namespace {

constexpr size_t kMaxPermanentRank = 8;
constexpr size_t kMaxPermanentElements = 16;
constexpr size_t kShards = 64;
constexpr int kShardShift = 16;

// Shapes that are never freed, by open addressing: at most half full, and nothing ever leaves.
constexpr size_t kSlots = 2 * ShapeTable::kMostPermanent;
constinit std::array<std::atomic<const void*>, kSlots> slots = {};
constinit std::atomic<size_t> permanent_count = 0;

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 32);
}

uint64_t mix_list(uint64_t hash, const std::vector<int64_t>& list) {
  hash = mix(hash, list.size());
  for (int64_t value : list) hash = mix(hash, static_cast<uint64_t>(value));
  return hash;
}

// Of all that tells layouts apart: a large module has many that differ in their tiles alone.
uint64_t mix_layout(uint64_t hash, const Layout& layout) {
  hash = mix_list(hash, layout.minor_to_major);
  hash = mix_list(hash, layout.dim_level_types);
  for (const std::vector<int64_t>& tile : layout.tiles) hash = mix_list(hash, tile);
  for (const Layout::SplitConfig& split : layout.split_configs)
    hash = mix_list(mix(hash, static_cast<uint64_t>(split.dimension)), split.split_indices);
  hash = mix_list(hash, {layout.tail_padding_alignment, static_cast<int64_t>(layout.index_type),
                         static_cast<int64_t>(layout.pointer_type), layout.element_size_in_bits,
                         layout.memory_space, layout.metadata_prefix_bytes});
  const std::hash<std::string> hash_text;
  return mix(mix(hash, hash_text(layout.physical_shape)), hash_text(layout.unknown_proto));
}

int64_t wrapping_product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

uint64_t ShapeTable::hash_of(const Shape::Parts& parts) {
  uint64_t hash = mix(static_cast<uint64_t>(parts.dtype), parts.dynamic);
  for (int64_t size : parts.dimensions) hash = mix(hash, static_cast<uint64_t>(size));
  for (const Shape& element : parts.elements) hash = mix(hash, element.record().table_hash);
  return parts.layout == nullptr ? hash : mix_layout(hash, *parts.layout);
}

// Never destroyed: shapes are dropped to the very end of a process.
ShapeTable::Shard& ShapeTable::shard_of(uint64_t hash) {
  static auto& shards = *new std::array<Shard, kShards>;
  return shards[(hash >> kShardShift) % kShards];
}

const Shape::Record* ShapeTable::find_permanent(const Key& key) {
  for (size_t at = key.hash % kSlots;; at = (at + 1) % kSlots) {
    const auto* record =
        static_cast<const Shape::Record*>(slots[at].load(std::memory_order_acquire));
    if (record == nullptr || SameParts()(key, record)) return record;
  }
}

// A tuple keeps the records of its elements.
bool ShapeTable::may_be_permanent(std::span<const Shape> elements) {
  return elements.size() <= kMaxPermanentElements &&
         std::ranges::none_of(elements, [](const Shape& e) { return e.record().is_counted; });
}

// Whether there was room. The caller has the lock of the record's shard, so nobody adds an equal
// one at the same time.
bool ShapeTable::make_permanent(const Shape::Record* record) {
  if (record->dimensions.size() > kMaxPermanentRank || record->layout.has_value() ||
      !may_be_permanent(record->elements) ||
      permanent_count.load(std::memory_order_relaxed) >= kMostPermanent ||
      permanent_count.fetch_add(1, std::memory_order_relaxed) >= kMostPermanent) {
    return false;
  }
  for (size_t at = record->table_hash % kSlots;; at = (at + 1) % kSlots) {
    const void* empty = nullptr;
    if (slots[at].compare_exchange_strong(empty, record, std::memory_order_release)) return true;
  }
}

std::unique_ptr<Shape::Record> ShapeTable::make(const Key& key) {
  const Shape::Parts& parts = key.parts;
  auto record = std::make_unique<Shape::Record>();
  record->dtype = parts.dtype;
  record->dynamic = parts.dynamic;
  record->dimensions.assign(parts.dimensions.begin(), parts.dimensions.end());
  record->elements.assign(parts.elements.begin(), parts.elements.end());
  if (parts.layout != nullptr) record->layout = base::Box<Layout>(*parts.layout);
  record->table_hash = key.hash;
  measure(*record);
  set_type(*record);
  return record;
}

// Nobody has checked the sizes yet.
void ShapeTable::measure(Shape::Record& record) {
  for (int64_t size : record.dimensions)
    record.element_count = wrapping_product(record.element_count, size);
  if (is_array_element(record.dtype))
    record.byte_size = wrapping_product(record.element_count, storage_bytes(record.dtype));
  for (const Shape& element : record.elements)
    record.byte_size = saturating_add(record.byte_size, element.byte_size());
}

void ShapeTable::set_type(Shape::Record& record) {
  std::vector<Shape> types = record.elements;
  for (Shape& type : types) type.clear_layout();
  if (record.layout.has_value() || types != record.elements) {
    record.own_type = Shape({record.dtype, record.dynamic, record.dimensions, types, nullptr});
    record.type = record.own_type.record_;
    record.type_hash = record.type->type_hash;
    return;
  }
  record.type = &record;
  base::Hasher hasher;
  hash_value(hasher, record.dtype);
  hash_value(hasher, record.dynamic);
  hash_value(hasher, record.dimensions);
  hash_value(hasher, record.elements);
  record.type_hash = hasher.digest();
}

const Shape::Record* ShapeTable::find_in(const Shard& shard, const Key& key) {
  const auto found = shard.counted.find(key);
  if (found == shard.counted.end()) return nullptr;
  (*found)->handles.fetch_add(1, std::memory_order_relaxed);
  return *found;
}

const Shape::Record* ShapeTable::record_of(const Shape::Parts& parts) {
  const Key key{parts, hash_of(parts)};
  if (const Shape::Record* found = find_permanent(key)) return found;
  Shard& shard = shard_of(key.hash);
  {
    const std::lock_guard lock(shard.mutex);
    if (const Shape::Record* found = find_in(shard, key)) return found;
  }
  // Made and, where another thread was faster, freed without the lock: both touch other shapes.
  std::unique_ptr<Shape::Record> fresh = make(key);
  const std::lock_guard lock(shard.mutex);
  if (const Shape::Record* found = find_permanent(key)) return found;
  if (const Shape::Record* found = find_in(shard, key)) return found;
  if (make_permanent(fresh.get())) return fresh.release();
  fresh->is_counted = true;
  shard.counted.insert(fresh.get());
  return fresh.release();
}

// The count falls to 0 under the lock, where lookups raise it: nobody finds what is going.
void ShapeTable::drop(const Shape::Record* record) {
  uint64_t handles = record->handles.load(std::memory_order_relaxed);
  while (handles > 1) {
    if (record->handles.compare_exchange_weak(handles, handles - 1, std::memory_order_release,
                                              std::memory_order_relaxed))
      return;
  }
  {
    Shard& shard = shard_of(record->table_hash);
    const std::lock_guard lock(shard.mutex);
    if (record->handles.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    shard.counted.erase(record);
  }
  delete record;  // and the handles of its elements
}

size_t ShapeTable::counted_shapes() {
  size_t count = 0;
  for (uint64_t i = 0; i < kShards; ++i) {
    Shard& shard = shard_of(i << kShardShift);
    const std::lock_guard lock(shard.mutex);
    count += shard.counted.size();
  }
  return count;
}

}  // namespace heddle
