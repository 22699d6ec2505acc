// Each example in a namespace of its own. What they include is included here first, outside.
#include "heddle/tests/plugins/examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/examples/decoder.h"
#include "heddle/examples/plot.h"
#include "heddle/heddle.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/backend.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/testing.h"

#define main example_main
namespace heddle::examples::blocks {
#include "heddle/examples/blocks.cc"
}
namespace heddle::examples::branches {
#include "heddle/examples/branches.cc"
}
namespace heddle::examples::curve_fit {
#include "heddle/examples/curve_fit.cc"
}
namespace heddle::examples::custom_call {
#include "heddle/examples/custom_call.cc"
}
namespace heddle::examples::decoder {
#include "heddle/examples/decoder.cc"
}
namespace heddle::examples::nile {
#include "heddle/examples/nile.cc"
}
namespace heddle::examples::rnn {
#include "heddle/examples/rnn.cc"
}
namespace heddle::examples::root_finder {
#include "heddle/examples/root_finder.cc"
}
namespace heddle::examples::sde {
#include "heddle/examples/sde.cc"
}
namespace heddle::examples::sharded_decoder {
#include "heddle/examples/sharded_decoder.cc"
}
namespace heddle::examples::structs {
#include "heddle/examples/structs.cc"
}
namespace heddle::examples::zero_transfer {
#include "heddle/examples/zero_transfer_test.cc"
}
#undef main

namespace heddle::examples {
namespace {

template <int (*kRun)()>
int without_arguments(int, char**) {
  return kRun();
}

// An example of tests: its function alone.
int integrate() {
  const std::vector<float> sums = zero_transfer::integrate(ones({3})).to_vector<float>();
  return std::abs(sums[2] - 2.71F) < 1e-5F ? 0 : 1;
}

}  // namespace

const char* const kCustomCallProgram = custom_call::kProgram;

const Example kExamples[12] = {
    {"blocks", blocks::example_main, true},
    {"branches", without_arguments<branches::example_main>},
    {"curve_fit", without_arguments<curve_fit::example_main>},
    {"custom_call", without_arguments<custom_call::example_main>},
    {"decoder", without_arguments<decoder::example_main>},
    {"nile", nile::example_main},
    {"rnn", without_arguments<rnn::example_main>},
    {"root_finder", without_arguments<root_finder::example_main>},
    {"sde", without_arguments<sde::example_main>},
    {"sharded_decoder", sharded_decoder::example_main, true},
    {"structs", without_arguments<structs::example_main>},
    {"zero_transfer", without_arguments<integrate>},
};

}  // namespace heddle::examples
