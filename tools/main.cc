// heddle: the command line tool.
#include <cstdlib>

#include "heddle/tools/command.h"

int main(int argc, char** argv) {
  // XLA's plugins write their warnings to stderr, without their notes.
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", /*overwrite=*/0);
  return heddle::tools::run_command_line(argc, argv);
}
