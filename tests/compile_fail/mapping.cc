// Functions that vmap cannot map, axes that are none, and an aux that is none.
#include "heddle/heddle.h"

using namespace heddle;

// case too_few_arguments: vmap with one example of each
auto too_few(Tensor xs) {
#ifdef too_few_arguments
  return vmap([](Tensor x, Tensor y) { return x * y; })(xs);
#else
  return vmap([](Tensor x, Tensor y) { return x * y; })(xs, xs);
#endif
}

struct Plain {
  Tensor w;
};
struct Fields {
  Tensor w;
  static constexpr auto kFields = fields(field("w", &Fields::w));
};

// case without_fields: a struct needs its kFields
auto structs(Tensor xs) {
#ifdef without_fields
  return vmap([](Plain p) { return p.w; })(Plain{xs});
#else
  return vmap([](Fields p) { return p.w; })(Fields{xs});
#endif
}

// case axis_without_a_name: the axes of vmap have a name: write vmap(fn, {.in_axes = 0})
auto unnamed(Tensor xs) {
#ifdef axis_without_a_name
  vmap([](Tensor x) { return x; }, 1);
  return xs;
#else
  return vmap([](Tensor x) { return x; }, {.in_axes = 1})(xs);
#endif
}

// case axes_without_a_name (40 lines): no matching function
auto unnamed_axes(Tensor xs) {
  const auto add = [](Tensor x, Tensor y) { return x + y; };
#ifdef axes_without_a_name
  vmap(add, {0, 1});
  return xs;
#else
  return vmap(add, {.in_axes = {0, 1}})(xs, xs);
#endif
}

// case axis_of_bool: an axis, an index, a count or a size is an integer
auto axes(Tensor xs) {
#ifdef axis_of_bool
  return vmap([](Tensor x) { return x; }, {.in_axes = true})(xs);
#else
  return vmap([](Tensor x) { return x; }, {.in_axes = 1})(xs);
#endif
}

// case returns_nothing: or that vmap takes, returns a tree of Tensors
auto nothing(Tensor xs) {
#ifdef returns_nothing
  return vmap([](Tensor) {})(xs);
#else
  return vmap([](Tensor x) { return x; })(xs);
#endif
}

// case has_no_aux: with has_aux the function of a Jacobian returns std::pair(result, aux)
auto aux(Tensor x) {
#ifdef has_no_aux
  return jacrev([](Tensor x) { return x; }, has_aux)(x);
#else
  return jacrev([](Tensor x) { return std::pair(x, x); }, has_aux)(x);
#endif
}
