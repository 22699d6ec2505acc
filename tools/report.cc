#include <cstdio>

#include "heddle/tools/command.h"

namespace heddle::tools {

int report(const Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "heddle: error: %s\n", base::message_of(status).c_str());
  return 2;
}

}  // namespace heddle::tools
