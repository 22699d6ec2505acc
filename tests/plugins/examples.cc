// Each example in a namespace of its own. What they include is included here first, outside.
#include "heddle/tests/plugins/examples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/examples/decoder.h"
#include "heddle/examples/plot.h"
#include "heddle/heddle.h"

#define main run
namespace heddle::examples::branches {
#include "heddle/examples/branches.cc"
}
namespace heddle::examples::curve_fit {
#include "heddle/examples/curve_fit.cc"
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
namespace heddle::examples::structs {
#include "heddle/examples/structs.cc"
}
#undef main

namespace heddle::examples {
namespace {

template <int (*kRun)()>
int without_arguments(int, char**) {
  return kRun();
}

}  // namespace

const Example kExamples[7] = {
    {"branches", without_arguments<branches::run>},
    {"curve_fit", without_arguments<curve_fit::run>},
    {"decoder", without_arguments<decoder::run>},
    {"nile", nile::run},
    {"rnn", without_arguments<rnn::run>},
    {"root_finder", without_arguments<root_finder::run>},
    {"structs", without_arguments<structs::run>},
};

}  // namespace heddle::examples
