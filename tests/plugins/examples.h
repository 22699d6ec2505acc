// The examples as functions.
#pragma once

namespace heddle::examples {

struct Example {
  const char* name;
  int (*run)(int argc, char** argv);  // their main()
};

extern const Example kExamples[7];

}  // namespace heddle::examples
