// The examples as functions.
#pragma once

namespace heddle::examples {

struct Example {
  const char* name;
  int (*run)(int argc, char** argv);  // their main()
  bool takes_backend = false;         // its argument is a backend's name; else a folder
};

extern const Example kExamples[12];

// Of custom_call, which the example runs on the evaluator; its function is registered by it.
extern const char* const kCustomCallProgram;

}  // namespace heddle::examples
