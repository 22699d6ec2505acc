// Linked into tests and benchmarks: the disk cache is off unless the environment sets HEDDLE_CACHE.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kIsOff = setenv("HEDDLE_CACHE", "0", /*overwrite=*/0);

}  // namespace
