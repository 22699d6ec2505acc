#include "heddle/cpu/rewrites/shapes/splits.h"

#include <utility>

#include "heddle/cpu/lower/hlo_names.h"

namespace heddle::cpu {

std::optional<Splits> splits_of(const Shape& from, const Shape& to) {
  Splits splits;
  int64_t next = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    Dims parts;
    int64_t size = 1;
    while (next < to.rank() && size < from.dimension(d)) {
      parts.push_back(to.dimension(next));
      size *= to.dimension(next++);
    }
    if (size != from.dimension(d)) return std::nullopt;
    splits.push_back(std::move(parts));
  }
  while (next < to.rank() && !splits.empty()) splits.back().push_back(to.dimension(next++));
  return splits;
}

Dims sizes_of(const Splits& splits) {
  Dims sizes;
  for (const Dims& parts : splits) sizes.insert(sizes.end(), parts.begin(), parts.end());
  return sizes;
}

Splits composed(const Splits& first, const Splits& then) {
  Splits all;
  size_t next = 0;
  for (const Dims& parts : first) {
    Dims sizes;
    for (size_t i = 0; i < parts.size(); ++i, ++next)
      sizes.insert(sizes.end(), then[next].begin(), then[next].end());
    all.push_back(std::move(sizes));
  }
  return all;
}

std::optional<Splits> refined(const Splits& first, const Splits& all) {
  Splits then;
  for (size_t d = 0; d < first.size(); ++d) {
    const Shape whole(pred, first[d]), parts(pred, all[d]);
    const std::optional<Splits> own = splits_of(whole, parts);
    if (!own || sizes_of(*own) != all[d]) return std::nullopt;
    then.insert(then.end(), own->begin(), own->end());
  }
  return then;
}

Dims places_of(const Splits& splits, const Dims& dims) {
  Dims places;
  for (const int64_t d : dims) {
    int64_t place = 0;
    for (int64_t before = 0; before < d; ++before)
      place += static_cast<int64_t>(splits[static_cast<size_t>(before)].size());
    for (size_t part = 0; part < splits[static_cast<size_t>(d)].size(); ++part)
      places.push_back(place++);
  }
  return places;
}

}  // namespace heddle::cpu
