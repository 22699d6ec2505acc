#include <cstdio>

#include "heddle/tools/command.h"

namespace heddle::tools {

int report(const Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "heddle: error: %s\n", base::message_of(status).c_str());
  constexpr int kInterrupted = 130;  // as of a shell
  return status.code() == StatusCode::kCancelled ? kInterrupted : 2;
}

}  // namespace heddle::tools
