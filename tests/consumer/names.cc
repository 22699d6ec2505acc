// A user's own names beside `using namespace heddle`: functions and templates of the global
// namespace, everything in a namespace of the user's, and locals. Each must be the user's own.

#include <complex>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/heddle.h"

using namespace heddle;

namespace {

int failures = 0;

}  // namespace

// The user's functions return this, and Heddle's none.
struct Mine {
  std::string from;
};

static void expect(const Mine& mine, const std::string& from) {
  if (mine.from == from) return;
  std::cout << "names: " << from << " was " << mine.from << "\n";
  ++failures;
}

// Functions of Tensors with names that Heddle has too: an exact match, so the user's are called.
#define OF_ONE(name) \
  static Mine name(const Tensor&) { return {#name}; }
#define OF_TWO(name) \
  static Mine name(const Tensor&, const Tensor&) { return {#name}; }
#define OF_THREE(name) \
  static Mine name(const Tensor&, const Tensor&, const Tensor&) { return {#name}; }
#define NAMES_OF_ONE(F)                                                                          \
  F(abs)                                                                                         \
  F(exp)                                                                                         \
  F(sqrt) F(square) F(tanh) F(logistic) F(softmax) F(sum) F(mean) F(median) F(ravel) F(flip)     \
      F(transpose) F(sort) F(unique) F(diagonal) F(zeros_like) F(real) F(floor) F(sign) F(block) \
          F(nonzero) F(stack) F(trace_of) F(argmax) F(count_nonzero) F(any) F(all) F(spacing)
#define NAMES_OF_TWO(F)                                                                          \
  F(add)                                                                                         \
  F(subtract)                                                                                    \
  F(multiply) F(divide) F(maximum) F(minimum) F(pow) F(dot) F(matmul) F(outer) F(inner) F(cross) \
      F(equal) F(less) F(greater) F(mod) F(rem) F(fmax) F(fmin) F(gcd) F(index) F(map)           \
          F(take_first) F(convolve) F(hypot) F(atan2) F(split) F(append)
#define NAMES_OF_THREE(F) F(where) F(clamp) F(clip) F(select) F(lerp) F(cond) F(scatter) F(insert)
NAMES_OF_ONE(OF_ONE)
NAMES_OF_TWO(OF_TWO)
NAMES_OF_THREE(OF_THREE)

// Functions of plain C++ values.
static Mine repeat(const std::string&, int) { return {"repeat"}; }
static Mine round(const std::vector<double>&) { return {"round"}; }
static Mine join(const std::vector<std::string>&, const std::string&) { return {"join"}; }
static Mine cat(const std::string&, const std::string&) { return {"cat"}; }
static Mine search(int) { return {"search"}; }
template <class T>
Mine slice(const std::vector<T>&, int, int) {
  return {"slice"};
}
template <class T>
Mine roll(const std::vector<T>&, int) {
  return {"roll"};
}

// Types, templates and functions of the global namespace whose names Heddle's own helpers have in
// namespaces of their own.
#define TYPES_OF_THE_USER(F)                                                                       \
  F(Set)                                                                                           \
  F(Side)                                                                                          \
  F(Leaf) F(Parts) F(Levels) F(Starts) F(Spec) F(Specs) F(Between) F(Overlap) F(Combine) F(Unique) \
      F(Division) F(Exponents) F(Hasher) F(Hash128) F(FunctionRef) F(Field) F(Number) F(Node)      \
          F(Graph) F(Model) F(Layer) F(State) F(Step) F(Config) F(Params) F(Batch) F(Cell)         \
              F(Options) F(Result) F(Range) F(Grid) F(Point) F(Vector) F(Matrix) F(Array)          \
                  F(Buffer) F(Builder) F(Attrs) F(Opcode) F(Instruction) F(Computation) F(Module)  \
                      F(Backend) F(Recorder) F(Expr) F(Term) F(Lru) F(Throttle)
#define TYPE_OF_THE_USER(name) \
  struct name {                \
    std::string from = #name;  \
  };
TYPES_OF_THE_USER(TYPE_OF_THE_USER)
template <class T>
struct Box {
  T value;
};
template <class... Parts>
Mine message(const Parts&...) {
  return {"message"};
}
template <class... Parts>
Mine not_found(const Parts&...) {
  return {"not_found"};
}
template <class... Parts>
Mine unimplemented(const Parts&...) {
  return {"unimplemented"};
}
template <class... Parts>
Mine annotate(const Parts&...) {
  return {"annotate"};
}

// In a namespace of the user's, names hide Heddle's: variables and types too.
namespace app {

struct Program {
  std::string from = "Program";
};
struct Slice {
  std::string from = "Slice";
};
struct Status {
  std::string from = "Status";
};
struct Set {
  std::string from = "Set";
};
struct Side {
  std::string from = "Side";
};
struct Leaf {
  std::string from = "Leaf";
};
template <class T>
struct Box {
  std::string from = "Box";
};
enum class Layout { kRows };
using Parts = std::vector<int>;
const Mine index{"index"};
const Mine block{"block"};
const Mine map{"map"};
const Mine count{"count"};
const Mine f32{"f32"};
Mine scan(const std::string&) { return {"scan"}; }
Mine zeros(int) { return {"zeros"}; }
Mine where(const Tensor&) { return {"where"}; }

void check() {
  expect({Program{}.from}, "Program");
  expect({Slice{}.from}, "Slice");
  expect({Status{}.from}, "Status");
  expect({Set{}.from}, "Set");
  expect({Side{}.from}, "Side");
  expect({Leaf{}.from}, "Leaf");
  expect({Box<int>{}.from}, "Box");
  static_assert(static_cast<int>(Layout::kRows) == 0);
  expect({Parts{1, 2}.size() == 2 ? "Parts" : ""}, "Parts");
  expect(index, "index");
  expect(block, "block");
  expect(map, "map");
  expect(count, "count");
  expect(f32, "f32");
  expect(scan("text"), "scan");
  expect(zeros(3), "zeros");
  expect(where(Tensor()), "where");
}

}  // namespace app

static void check_locals() {
  const int index = 1, block = 2, map = 3, where = 4, sum = 5, max = 6, scan = 7, at = 8;
  const int count = 9, trace = 10, array = 11, size = 12, mean = 13, slice = 14, f32 = 15;
  const int total = index + block + map + where + sum + max + scan + at + count + trace + array +
                    size + mean + slice + f32;
  expect({total == 120 ? "locals" : "others"}, "locals");
  struct Tensor {
    std::string from = "Tensor";
  };
  expect({Tensor{}.from}, "Tensor");
  const auto zeros = [](int) { return Mine{"zeros"}; };
  expect(zeros(3), "zeros");
}

int main() {
  const Tensor x;
#define CHECK_ONE(name) expect(name(x), #name);
#define CHECK_TWO(name) expect(name(x, x), #name);
#define CHECK_THREE(name) expect(name(x, x, x), #name);
  NAMES_OF_ONE(CHECK_ONE)
  NAMES_OF_TWO(CHECK_TWO)
  NAMES_OF_THREE(CHECK_THREE)
  expect(repeat("a", 2), "repeat");
  expect(round(std::vector<double>{0.5}), "round");
  expect(join(std::vector<std::string>{"a"}, std::string(",")), "join");
  expect(cat(std::string("a"), std::string("b")), "cat");
  expect(search(1), "search");
#define CHECK_TYPE(name) expect({name{}.from}, #name);
  TYPES_OF_THE_USER(CHECK_TYPE)
  expect({Box<int>{3}.value == 3 ? "Box" : ""}, "Box");
  expect(message("a", 1), "message");
  expect(not_found("a", 1), "not_found");
  expect(unimplemented("a", 1), "unimplemented");
  expect(annotate(1, "a"), "annotate");
  using namespace std;  // invalid_argument is std's alone
  expect({invalid_argument("invalid_argument").what()}, "invalid_argument");
  expect(slice(std::vector<int>{1, 2}, 0, 1), "slice");
  expect(roll(std::vector<int>{1, 2}, 1), "roll");
  app::check();
  check_locals();
  std::cout << (failures == 0 ? "names: ok\n" : "names: not ok\n");
  return failures == 0 ? 0 : 1;
}
