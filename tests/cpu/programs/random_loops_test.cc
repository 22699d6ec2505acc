// Random programs of loops, branches and updates of a few arrays of integers: whose places may be
// shared, and in what order they are written, is the hardest thing that the lowering decides. Every
// program gives the evaluator's bits, with donated arguments too.
// HEDDLE_RANDOM_PROGRAMS=FIRST:LAST runs those of these numbers.
#include <gtest/gtest.h>

#include <random>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr uint64_t kPrograms = 300;
constexpr char kState[] = "(s32[], s32[70], s32[70], s32[2,35])";
constexpr char kCalled[] =
    "less { u = s32[] parameter(0)\n v = s32[] parameter(1)\n"
    "  ROOT l = pred[] compare(u, v), direction=LT }\n"
    "sum { u = s32[] parameter(0)\n v = s32[] parameter(1)\n  ROOT l = s32[] add(u, v) }\n"
    "below { s = (s32[], s32[70], s32[70], s32[2,35]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(3)\n"
    "  ROOT l = pred[] compare(i, n), direction=LT }\n"
    "reading { s = (s32[], s32[70], s32[70], s32[2,35]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(2)\n"
    "  a = s32[70] get-tuple-element(s), index=1\n"
    "  x = s32[1] dynamic-slice(a, i), dynamic_slice_sizes={1}\n  y = s32[] reshape(x)\n"
    "  z = s32[] constant(-9)\n  p = pred[] compare(y, z), direction=GT\n"
    "  q = pred[] compare(i, n), direction=LT\n  ROOT l = pred[] and(p, q) }\n";

class ProgramWriter {
 public:
  explicit ProgramWriter(uint64_t seed) : random_(seed) {}

  std::string run() {
    std::string entry =
        "ENTRY main {\n  s0 = s32[] parameter(0)\n  x0 = s32[70] parameter(1)\n"
        "  y0 = s32[70] parameter(2)\n  m0 = s32[2,35] parameter(3)\n";
    Pool pool{{"s0"}, {"x0", "y0"}, {"m0"}};
    const std::string lines = steps(pool, /*depth=*/0, 3 + below(6));
    std::string root = cat("  ROOT r = (s32[70], s32[70], s32[2,35], s32[70], s32[]) tuple(",
                           any(pool.arrays), ", ", pool.arrays.back(), ", ", any(pool.matrices),
                           ", ", any(pool.arrays), ", ", any(pool.scalars), ") }\n");
    return cat("HloModule m\n", kCalled, computations_, entry, lines, root);
  }

 private:
  struct Pool {
    std::vector<std::string> scalars, arrays, matrices;
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  // Newer ones rather.
  const std::string& any(const std::vector<std::string>& names) {
    const int n = static_cast<int>(names.size());
    return names[static_cast<size_t>(n - 1 - std::min(below(n), below(n)))];
  }
  std::string name() { return cat("v", ++count_); }
  // Writes "NAME = TYPE EXPRESSION" and returns the name.
  std::string line(std::string& out, const std::string& type, const std::string& expression) {
    const std::string id = name();
    out += cat("  ", id, " = ", type, " ", expression, "\n");
    return id;
  }
  std::string constant(std::string& out, int value) {
    return line(out, "s32[]", cat("constant(", value, ")"));
  }

  // Of `size` elements of an array.
  std::string part(std::string& out, Pool& pool, int size) {
    const std::string type = cat("s32[", size, "]");
    const std::string& from = any(pool.arrays);
    const int first = below(71 - size);
    switch (below(4)) {
      case 0:
        return line(out, type,
                    cat("dynamic-slice(", from, ", ", any(pool.scalars), "), dynamic_slice_sizes={",
                        size, "}"));
      case 1: {
        const std::string back = line(out, "s32[70]", cat("reverse(", from, "), dimensions={0}"));
        return line(out, type, cat("slice(", back, "), slice={[", first, ":", first + size, "]}"));
      }
      case 2: {
        const std::string sum =
            line(out, "s32[70]", cat("add(", from, ", ", any(pool.arrays), ")"));
        return line(out, type, cat("slice(", sum, "), slice={[", first, ":", first + size, "]}"));
      }
      default:
        return line(out, type, cat("slice(", from, "), slice={[", first, ":", first + size, "]}"));
    }
  }

  std::string steps(Pool& pool, int depth, int count) {
    std::string out;
    while (count-- > 0) step(out, pool, depth);
    return out;
  }

  void step(std::string& out, Pool& pool, int depth) {
    const std::string array = "s32[70]", matrix = "s32[2,35]";
    const auto add_array = [&](const std::string& expression) {
      pool.arrays.push_back(line(out, array, expression));
    };
    const auto add_matrix = [&](const std::string& expression) {
      pool.matrices.push_back(line(out, matrix, expression));
    };
    const auto add_scalar = [&](const std::string& expression) {
      pool.scalars.push_back(line(out, "s32[]", expression));
    };
    switch (below(depth < 2 ? 22 : 18)) {
      case 0: add_array(cat("add(", any(pool.arrays), ", ", any(pool.arrays), ")")); break;
      case 1: add_array(cat("subtract(", any(pool.arrays), ", ", any(pool.arrays), ")")); break;
      case 2: add_array(cat("reverse(", any(pool.arrays), "), dimensions={0}")); break;
      case 3:
        add_array(cat("scatter(", any(pool.arrays), ", ", any(pool.arrays), ", ", any(pool.arrays),
                      "), update_window_dims={}, inserted_window_dims={0}, "
                      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum"));
        break;
      case 4:
      case 5: {
        const std::string update = part(out, pool, 1 + below(66));
        add_array(cat("dynamic-update-slice(", any(pool.arrays), ", ", update, ", ",
                      any(pool.scalars), ")"));
        break;
      }
      case 6: {
        const std::string row =
            line(out, "s32[1,35]",
                 cat("dynamic-slice(", any(pool.matrices), ", ", any(pool.scalars), ", ",
                     any(pool.scalars), "), dynamic_slice_sizes={1,35}"));
        add_matrix(cat("dynamic-update-slice(", any(pool.matrices), ", ", row, ", ",
                       any(pool.scalars), ", ", any(pool.scalars), ")"));
        break;
      }
      case 7: add_array(cat("reshape(", any(pool.matrices), ")")); break;
      case 8: add_matrix(cat("reshape(", any(pool.arrays), ")")); break;
      case 9: {
        const std::string x = part(out, pool, 20), y = part(out, pool, 50);
        add_array(cat("concatenate(", x, ", ", y, "), dimensions={0}"));
        break;
      }
      case 10: {
        const std::string x = part(out, pool, 35), zero = constant(out, below(5));
        add_array(cat("pad(", x, ", ", zero, "), padding=", below(4) == 0 ? "15_20" : "0_1_1"));
        break;
      }
      case 11: add_array(cat("sort(", any(pool.arrays), "), dimensions={0}, to_apply=less")); break;
      case 12: {
        const std::string x = line(out, "s32[1]",
                                   cat("dynamic-slice(", any(pool.arrays), ", ", any(pool.scalars),
                                       "), dynamic_slice_sizes={1}"));
        add_scalar(cat("reshape(", x, ")"));
        break;
      }
      case 13: {
        const std::string zero = constant(out, below(3));
        add_scalar(cat("reduce(", any(pool.arrays), ", ", zero, "), dimensions={0}, to_apply=sum"));
        break;
      }
      case 14: add_array(cat("broadcast(", any(pool.scalars), "), dimensions={}")); break;
      case 15: {
        const std::string p =
            line(out, "pred[70]",
                 cat("compare(", any(pool.arrays), ", ", any(pool.arrays), "), direction=LT"));
        add_array(cat("select(", p, ", ", any(pool.arrays), ", ", any(pool.arrays), ")"));
        break;
      }
      case 16: {
        const std::string turned =
            line(out, "s32[35,2]", cat("transpose(", any(pool.matrices), "), dimensions={1,0}"));
        add_matrix(cat("reshape(", turned, ")"));
        break;
      }
      case 17: {
        const std::string zero = constant(out, 0);
        add_array(cat("reduce-window(", any(pool.arrays), ", ", zero, "), window={size=70 pad=",
                      below(2) == 0 ? "69_0" : "0_69", "}, to_apply=sum"));
        break;
      }
      case 18:
      case 19: {
        const std::string zero = constant(out, below(2));
        control(out, pool, depth, zero, /*is_loop=*/true);
        break;
      }
      default: control(out, pool, depth, any(pool.scalars), /*is_loop=*/false);
    }
  }

  void control(std::string& out, Pool& pool, int depth, const std::string& first, bool is_loop) {
    const std::string state = line(out, kState,
                                   cat("tuple(", first, ", ", any(pool.arrays), ", ",
                                       any(pool.arrays), ", ", any(pool.matrices), ")"));
    std::string expression;
    if (is_loop) {
      expression = cat("while(", state, "), condition=", below(4) == 0 ? "reading" : "below",
                       ", body=", computation(depth + 1, /*is_body=*/true));
    } else {
      const std::string f = computation(depth + 1, false), g = computation(depth + 1, false);
      const std::string other = below(2) == 0
                                    ? state
                                    : line(out, kState,
                                           cat("tuple(", first, ", ", any(pool.arrays), ", ",
                                               any(pool.arrays), ", ", any(pool.matrices), ")"));
      expression = cat("conditional(", any(pool.scalars), ", ", state, ", ", other,
                       "), branch_computations={", f, ", ", g, "}");
    }
    const std::string id = line(out, kState, expression);
    const auto element = [&](const std::string& type, int index) {
      return line(out, type, cat("get-tuple-element(", id, "), index=", index));
    };
    pool.scalars.push_back(element("s32[]", 0));
    pool.arrays.push_back(element("s32[70]", 1));
    pool.arrays.push_back(element("s32[70]", 2));
    pool.matrices.push_back(element("s32[2,35]", 3));
  }

  // Of a state; a body counts in its first element.
  std::string computation(int depth, bool is_body) {
    std::string out = cat("  s = ", kState, " parameter(0)\n");
    const auto element = [&](const std::string& type, int index) {
      return line(out, type, cat("get-tuple-element(s), index=", index));
    };
    Pool pool;
    const std::string i = element("s32[]", 0);
    pool.scalars = {i};
    pool.arrays = {element("s32[70]", 1), element("s32[70]", 2)};
    pool.matrices = {element("s32[2,35]", 3)};
    const std::string one = constant(out, 1);
    const std::string next = line(out, "s32[]", cat("add(", i, ", ", one, ")"));
    pool.scalars.push_back(next);
    out += steps(pool, depth, 1 + below(5));
    out += cat("  ROOT r = ", kState, " tuple(", is_body ? next : any(pool.scalars), ", ",
               any(pool.arrays), ", ", any(pool.arrays), ", ", any(pool.matrices), ")");
    const std::string id = cat("f", ++count_);
    computations_ += cat(id, " {\n", out, " }\n");
    return id;
  }

  std::mt19937_64 random_;
  int count_ = 0;
  std::string computations_;
};

TEST(RandomLoops, GiveNativelyTheEvaluatorsBits) {
  const auto [first, last] = random_numbers(kPrograms);
  for (uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE(cat("program ", seed));
    expect_as_evaluated(ProgramWriter(seed).run());
  }
}

}  // namespace
}  // namespace heddle::cpu
