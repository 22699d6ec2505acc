// Lists of samples as one.
#pragma once

#include <initializer_list>
#include <vector>

namespace heddle {

template <class T>
std::vector<T> joined(std::initializer_list<std::vector<T>> parts) {
  std::vector<T> all;
  for (const std::vector<T>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace heddle
