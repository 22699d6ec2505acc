// Types that are no trees.
#include "heddle/heddle.h"

using namespace heddle;

namespace {

struct Unlisted {
  Tensor x;
};
struct Listed {
  Tensor w, b;
  static constexpr auto kFields = fields(field("w", &Listed::w), field("b", &Listed::b));
};
struct Short {
  Tensor w, b;
  static constexpr auto kFields = fields(field("w", &Short::w));
};
struct Twice {
  Tensor w, b;
  static constexpr auto kFields = fields(field("w", &Twice::w), field("b", &Twice::w));
};
struct OneName {
  Tensor w, b;
  static constexpr auto kFields = fields(field("w", &OneName::w), field("w", &OneName::b));
};
struct WithInt {
  Tensor w;
  int heads = 4;
  static constexpr auto kFields = fields(field("w", &WithInt::w), field("heads", &WithInt::heads));
};
struct WithHeads {
  Tensor w;
  int heads = 4;
  static constexpr auto kFields =
      fields(field("w", &WithHeads::w), static_field("heads", &WithHeads::heads));
};
struct WithPointer {
  Tensor w;
  const char* name = "";
  static constexpr auto kFields =
      fields(field("w", &WithPointer::w), static_field("name", &WithPointer::name));
};
struct Constructed {
  explicit Constructed(Tensor t) : w(t) {}
  Tensor w;
  static constexpr auto kFields = fields(field("w", &Constructed::w));
};
struct Outer {
  std::vector<Short> layers;
  static constexpr auto kFields = fields(field("layers", &Outer::layers));
};

template <class C>
Tensor run(const C& init, Tensor xs) {
  scan([](C c, Tensor x) { return std::pair(c, x); }, init, xs);
  return xs;
}

// case no_list: a struct needs its kFields
#ifdef no_list
Tensor list(Tensor xs) { return run(Unlisted{xs}, xs); }
#else
Tensor list(Tensor xs) { return run(Listed{xs, xs}, xs); }
#endif

// case missing_member: kFields misses a member of the struct
#ifdef missing_member
Tensor missing(Tensor xs) { return run(Short{xs, xs}, xs); }
#endif

// case inner_missing_member: kFields misses a member of the struct
#ifdef inner_missing_member
Tensor inner(Tensor xs) { return run(Outer{}, xs); }
#endif

// case member_twice: kFields has a member, or a name, twice
#ifdef member_twice
Tensor twice(Tensor xs) { return run(Twice{xs, xs}, xs); }
#endif

// case name_twice: kFields has a member, or a name, twice
#ifdef name_twice
Tensor names(Tensor xs) { return run(OneName{xs, xs}, xs); }
#endif

// case int_member: a member in kFields is neither a Tensor nor a tree of Tensors
#ifdef int_member
Tensor of_int(Tensor xs) { return run(WithInt{xs, 4}, xs); }
#else
Tensor of_int(Tensor xs) { return run(WithHeads{xs, 4}, xs); }
#endif

// case static_pointer: a static field is a number, an enum or a std::string
#ifdef static_pointer
Tensor of_pointer(Tensor xs) { return run(WithPointer{xs, ""}, xs); }
#endif

// case constructor: a struct in a tree is made empty and then filled
#ifdef constructor
Tensor of_constructor(Tensor xs) { return run(Constructed(xs), xs); }
#endif

// case int_in_carry: a C++ number inside of a tree is written as a tensor: scalar(0.0f) for 0.0f
#ifdef int_in_carry
Tensor in_carry(Tensor xs) { return run(std::pair(xs, 3), xs); }
#else
Tensor in_carry(Tensor xs) { return run(std::pair(xs, scalar(3)), xs); }
#endif

// case text_in_carry: a tree is made of Tensors
#ifdef text_in_carry
Tensor text_in_carry_of(Tensor xs) { return run(std::pair(xs, std::string("3")), xs); }
#else
Tensor text_in_carry_of(Tensor xs) { return run(std::pair(xs, xs), xs); }
#endif

// case int_keys: a map in a tree has keys of std::string
#ifdef int_keys
Tensor keys(Tensor xs) { return run(std::map<int, Tensor>{{1, xs}}, xs); }
#else
Tensor keys(Tensor xs) { return run(std::map<std::string, Tensor>{{"1", xs}}, xs); }
#endif

// case int_in_vector: a C++ number inside of a tree is written as a tensor: scalar(0.0f) for 0.0f
#ifdef int_in_vector
Tensor in_vector(Tensor xs) { return run(std::vector<int>{1}, xs); }
#else
Tensor in_vector(Tensor xs) { return run(std::vector<Tensor>{xs}, xs); }
#endif

// case local_struct: a struct needs its kFields
Tensor local(Tensor xs) {
#ifdef local_struct
  struct State {
    Tensor a, b;
  };
#else
  struct State {
    Tensor a, b;
    static constexpr auto fields() {
      return heddle::fields(field("a", &State::a), field("b", &State::b));
    }
  };
#endif
  return run(State{xs, xs}, xs);
}

// case map_of_int: tree_map takes a function of Tensors, and then trees of Tensors
#ifdef map_of_int
int of_number() { return tree_map([](Tensor x) { return x; }, 3); }
#else
Listed of_two(Listed a, Listed b) {
  return tree_map([](Tensor x, Tensor y) { return x + y; }, a, b);
}
#endif

// case map_to_int: the function of tree_map takes one Tensor of each tree
#ifdef map_to_int
Listed to_number(Listed a) { return tree_map([](Tensor) { return 1; }, a); }
#endif

}  // namespace

Tensor use(Tensor x) {
  return list(x) + of_int(x) + in_carry(x) + keys(x) + in_vector(x) + local(x);
}

// case function_with_defaults: a function by its name has no default arguments
Listed zeros_of(Listed a) {
#ifdef function_with_defaults
  return tree_map(zeros_like, a);
#else
  return tree_map([](Tensor x) { return zeros_like(x); }, a);
#endif
}

// case fields_of_names: a list of fields is made of field(..)
struct Names {
  Tensor w;
#ifdef fields_of_names
  static constexpr auto kFields = fields("w", &Names::w);
#else
  static constexpr auto kFields = fields(field("w", &Names::w));
#endif
};

// case state_of_tensor: a Tensor is a value that nothing changes
Tensor without_gradient(Tensor x) {
#ifdef state_of_tensor
  return x.detach();
#else
  return stop_gradient(x);
#endif
}
