// heddle: the command line tool.
#include "heddle/tools/command.h"

int main(int argc, char** argv) { return heddle::tools::run_command_line(argc, argv); }
