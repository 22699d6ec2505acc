// Functions that loops and branches cannot run.
#include "heddle/heddle.h"

using namespace heddle;

// case tied_step: write std::pair(..) or std::tuple(..) for std::tie(..)
auto tied(Tensor xs) {
#ifdef tied_step
  return scan([](Tensor c, Tensor x) { return std::tie(c, x); }, ones({}), xs);
#else
  return scan([](Tensor c, Tensor x) { return std::pair(c, x); }, ones({}), xs);
#endif
}

// case tied_y: write std::pair(..) or std::tuple(..) for std::tie(..)
auto tied_inside(Tensor xs) {
#ifdef tied_y
  return scan([](Tensor c, Tensor x) { return std::pair(c, std::tie(c, x)); }, ones({}), xs);
#else
  return scan([](Tensor c, Tensor x) { return std::pair(c, std::pair(c, x)); }, ones({}), xs);
#endif
}

// case forwarded_step: write std::pair(..) or std::tuple(..) for std::tie(..)
auto forwarded(Tensor xs) {
#ifdef forwarded_step
  return scan([](Tensor c, Tensor x) { return std::forward_as_tuple(c, x); }, ones({}), xs);
#else
  return scan([](Tensor c, Tensor x) { return std::tuple(c, x); }, ones({}), xs);
#endif
}

// case const_references: write std::pair(..) or std::tuple(..) for std::tie(..)
auto references(Tensor xs) {
#ifdef const_references
  return map([](Tensor x) { return std::pair<const Tensor&, const Tensor&>(x, x); }, xs);
#else
  return map([](Tensor x) { return std::pair(x, x); }, xs);
#endif
}

// case referenced: write std::pair(..) or std::tuple(..) for std::tie(..)
auto wrapper(Tensor xs) {
#ifdef referenced
  return map([](Tensor x) { return std::tuple<std::reference_wrapper<Tensor>>(x); }, xs);
#else
  return map([](Tensor x) { return std::tuple<Tensor>(x); }, xs);
#endif
}

// case span_of_locals: write std::pair(..) or std::tuple(..) for std::tie(..)
auto spans(Tensor xs) {
#ifdef span_of_locals
  return map([](Tensor x) { return std::span<Tensor>(&x, 1); }, xs);
#else
  return map([](Tensor x) { return std::vector<Tensor>{x}; }, xs);
#endif
}

// case pointer_to_local: write std::pair(..) or std::tuple(..) for std::tie(..)
auto pointers(Tensor xs) {
#ifdef pointer_to_local
  return map([](Tensor x) { return std::pair(&x, None{}); }, xs);
#else
  return map([](Tensor x) { return std::pair(x, None{}); }, xs);
#endif
}

// case reference_to_local: the function returns a reference, perhaps to a variable of its own
auto reference(Tensor xs) {
#ifdef reference_to_local
  return map([](Tensor x) -> decltype(auto) { return x += 1; }, xs);
#else
  return map([](Tensor x) { return x += 1; }, xs);
#endif
}

// case while_reference: the function returns a reference, perhaps to a variable of its own
auto repeated(Tensor x) {
#ifdef while_reference
  return while_loop([](Tensor c) { return c < 9; },
                    [](Tensor c) -> decltype(auto) { return c += 1; }, x);
#else
  return while_loop([](Tensor c) { return c < 9; }, [](Tensor c) { return c += 1; }, x);
#endif
}

// case fori_tied: write std::pair(..) or std::tuple(..) for std::tie(..)
auto counted(Tensor x) {
#ifdef fori_tied
  return fori_loop(
      0, 3, [](Tensor, std::pair<Tensor, Tensor> c) { return std::tie(c.second, c.first); },
      std::pair(x, x));
#else
  return fori_loop(
      0, 3, [](Tensor, std::pair<Tensor, Tensor> c) { return std::pair(c.second, c.first); },
      std::pair(x, x));
#endif
}

// case cond_tied: write std::pair(..) or std::tuple(..) for std::tie(..)
auto branches(Tensor p, Tensor x) {
#ifdef cond_tied
  return cond(
      p, [](Tensor a) { return std::tie(a, a); }, [](Tensor a) { return std::tie(a, a); }, x);
#else
  return cond(
      p, [](Tensor a) { return std::pair(a, a); }, [](Tensor a) { return std::pair(a, a); }, x);
#endif
}

// case switch_reference: the function returns a reference, perhaps to a variable of its own
auto cases(Tensor p, Tensor x) {
#ifdef switch_reference
  auto f = [](Tensor a) -> decltype(auto) { return a += 1; };
#else
  auto f = [](Tensor a) { return a += 1; };
#endif
  return switch_case(p, std::tuple(f, f), x);
}

// case associative_tied: write std::pair(..) or std::tuple(..) for std::tie(..)
auto combined(Tensor x) {
#ifdef associative_tied
  auto f = [](std::pair<Tensor, Tensor> a, std::pair<Tensor, Tensor> b) {
    return std::tie(a.first, b.second);
  };
#else
  auto f = [](std::pair<Tensor, Tensor> a, std::pair<Tensor, Tensor> b) {
    return std::pair(a.first, b.second);
  };
#endif
  return associative_scan(f, std::pair(x, x));
}

// case layers_reference: the function returns a reference, perhaps to a variable of its own
auto stacked(Tensor x) {
#ifdef layers_reference
  return scan_layers([](Tensor w, Tensor h) -> decltype(auto) { return h *= w; }, x, x);
#else
  return scan_layers([](Tensor w, Tensor h) { return h *= w; }, x, x);
#endif
}

// case step_of_one: the step of a scan takes (carry, x)
auto one(Tensor xs) {
#ifdef step_of_one
  return scan([](Tensor c) { return std::pair(c, c); }, ones({}), xs);
#else
  return scan([](Tensor c, Tensor) { return std::pair(c, c); }, ones({}), xs);
#endif
}

// case step_without_y: the step of a scan returns std::pair(carry, y)
auto no_y(Tensor xs) {
#ifdef step_without_y
  return scan([](Tensor c, Tensor x) { return c + x; }, ones({}), xs);
#else
  return scan([](Tensor c, Tensor x) { return std::pair(c + x, None{}); }, ones({}), xs);
#endif
}

// case other_carry: the step of a scan must return a carry of the type that it was given
auto carry(Tensor xs) {
#ifdef other_carry
  return scan([](Tensor c, Tensor x) { return std::pair(std::pair(c, x), x); }, ones({}), xs);
#else
  return scan([](Tensor c, Tensor x) { return std::pair(c, std::pair(c, x)); }, ones({}), xs);
#endif
}

// case init_before_the_function: behind the function: scan(fn, init, xs)
auto behind(Tensor xs) {
  const auto step = [](Tensor c, Tensor x) { return std::pair(c, x); };
#ifdef init_before_the_function
  return scan(ones({}), step, xs);
#else
  return scan(step, ones({}), xs);
#endif
}

// case number_as_y: the y of a step is a tree of Tensors
auto y(Tensor xs) {
#ifdef number_as_y
  return scan([](Tensor c, Tensor) { return std::pair(c, 1.0f); }, ones({}), xs);
#else
  return scan([](Tensor c, Tensor) { return std::pair(c, scalar(1.0f)); }, ones({}), xs);
#endif
}

// case map_arity: the function of a map takes one element of each of the xs
auto pairs(Tensor x) {
#ifdef map_arity
  return map([](Tensor a) { return a; }, x, x);
#else
  return map([](Tensor a, Tensor b) { return a + b; }, x, x);
#endif
}

// case map_of_void: the function of a map returns a tree of Tensors
auto nothing(Tensor x) {
#ifdef map_of_void
  return map([](Tensor) {}, x);
#else
  return map([](Tensor) { return None{}; }, x);
#endif
}

// case body_arity: the body of while_loop takes (carry), that of fori_loop (i, carry)
auto body(Tensor x) {
#ifdef body_arity
  return fori_loop(0, 3, [](Tensor c) { return c; }, x);
#else
  return fori_loop(0, 3, [](Tensor, Tensor c) { return c; }, x);
#endif
}

// case body_of_void: the body of a loop must return a carry of the type that it was given
auto changed(Tensor x) {
#ifdef body_of_void
  return fori_loop(0, 3, [](Tensor, Tensor c) { c += 1; }, x);
#else
  return fori_loop(0, 3, [](Tensor, Tensor c) { return c += 1; }, x);
#endif
}

// case condition_arity: the condition of while_loop takes (carry)
auto condition(Tensor x) {
#ifdef condition_arity
  return while_loop([] { return true; }, [](Tensor c) { return c; }, x);
#else
  return while_loop([](Tensor c) { return c < 3; }, [](Tensor c) { return c; }, x);
#endif
}

// case condition_of_bool: the condition of while_loop returns one Tensor
auto of_bool(Tensor x) {
#ifdef condition_of_bool
  return while_loop([](Tensor) { return true; }, [](Tensor c) { return c; }, x);
#else
  return while_loop([](Tensor c) { return c < 3; }, [](Tensor c) { return c; }, x);
#endif
}

// case associative_arity: the function of associative_scan takes (left, right)
auto prefix(Tensor x) {
#ifdef associative_arity
  return associative_scan([](Tensor a) { return a; }, x);
#else
  return associative_scan([](Tensor a, Tensor b) { return a + b; }, x);
#endif
}

// case layers_arity: the function of scan_layers takes (layer, x)
auto layers(Tensor x) {
#ifdef layers_arity
  return scan_layers([](Tensor h) { return h; }, x, x);
#else
  return scan_layers([](Tensor w, Tensor h) { return w * h; }, x, x);
#endif
}

// case branch_arity: branches take the operands behind them
auto operands(Tensor p, Tensor x) {
#ifdef branch_arity
  return cond(p, [](Tensor a) { return a; }, [] { return ones({}); }, x);
#else
  return cond(p, [](Tensor a) { return a; }, [](Tensor) { return ones({}); }, x);
#endif
}

// case branches_differ: all branches of cond or switch_case must return the same type
auto differ(Tensor p, Tensor x) {
#ifdef branches_differ
  return cond(p, [](Tensor a) { return a; }, [](Tensor a) { return std::pair(a, a); }, x);
#else
  return cond(p, [](Tensor a) { return a; }, [](Tensor a) { return a + a; }, x);
#endif
}

// case branch_of_void: a branch returns a tree of Tensors
auto of_void(Tensor p, Tensor x) {
#ifdef branch_of_void
  return cond(p, [](Tensor) {}, [](Tensor) {}, x);
#else
  return cond(p, [](Tensor a) { return a; }, [](Tensor a) { return a; }, x);
#endif
}

// case step_of_reference: write Tensor x or const Tensor& x for Tensor& x
auto stepped(Tensor x) {
#ifdef step_of_reference
  return scan([](Tensor& c, Tensor x) { return std::pair(c, x); }, ones({}), x);
#else
  return scan([](const Tensor& c, Tensor x) { return std::pair(c, x); }, ones({}), x);
#endif
}

// case body_of_reference: write Tensor x or const Tensor& x for Tensor& x
auto looped(Tensor x) {
#ifdef body_of_reference
  return while_loop([](Tensor c) { return c < 3; }, [](Tensor& c) { return c += 1; }, x);
#else
  return while_loop([](Tensor c) { return c < 3; }, [](Tensor c) { return c + 1; }, x);
#endif
}

// case condition_of_reference: write Tensor x or const Tensor& x for Tensor& x
auto tested(Tensor x) {
#ifdef condition_of_reference
  return while_loop([](Tensor& c) { return c < 3; }, [](Tensor c) { return c + 1; }, x);
#else
  return while_loop([](Tensor c) { return c < 3; }, [](Tensor c) { return c + 1; }, x);
#endif
}

// case counter_of_int: write Tensor i for int i
auto by_int(Tensor x) {
#ifdef counter_of_int
  return fori_loop(
      0, 3, [](int i, Tensor c) { return c + i; }, x);
#else
  return fori_loop(
      0, 3, [](Tensor i, Tensor c) { return c + i; }, x);
#endif
}

// case x_of_float: write Tensor i for int i
auto of_float(Tensor x) {
#ifdef x_of_float
  return scan([](Tensor c, float x) { return std::pair(c, c * x); }, ones({}), x);
#else
  return scan([](Tensor c, Tensor x) { return std::pair(c, c * x); }, ones({}), x);
#endif
}

// case map_of_reference: write Tensor x or const Tensor& x for Tensor& x
auto map_changed(Tensor x) {
#ifdef map_of_reference
  return map([](Tensor& a) { return a; }, x);
#else
  return map([](const Tensor& a) { return a; }, x);
#endif
}

// case combination_of_floats: write Tensor i for int i
auto of_floats(Tensor x) {
#ifdef combination_of_floats
  return associative_scan([](float a, float b) { return a + b; }, x);
#else
  return associative_scan([](Tensor a, Tensor b) { return a + b; }, x);
#endif
}

// case branch_of_reference: write Tensor x or const Tensor& x for Tensor& x
auto branch_changed(Tensor p, Tensor x) {
#ifdef branch_of_reference
  return cond(
      p, [](Tensor& a) { return a; }, [](Tensor& a) { return a; }, x);
#else
  return cond(
      p, [](Tensor a) { return a; }, [](Tensor a) { return a; }, x);
#endif
}

// Functions of Heddle's by their names, overloaded with those of std or not.
Tensor by_name(Tensor x, Tensor y) {
  return map(exp, x) + map(tanh, x) + map(maximum, x, y) + associative_scan(add, x);
}

// A reference to what was given is none to a local.
Tensor same(Tensor x) { return map(std::identity(), x); }

// case branches_in_braces (40 lines): no matching function for call to
Tensor one_of_lambdas(Tensor i, Tensor x) {
  auto same = [](Tensor v) { return v; };
  auto more = [](Tensor v) { return v + 1.0f; };
#ifdef branches_in_braces
  return switch_case(i, {same, more}, x);
#else
  return switch_case(i, std::tuple{same, more}, x);
#endif
}

// case scan_of_two_xs: the xs of a scan are one tree
auto of_two_xs(Tensor c, Tensor xs, Tensor ys) {
#ifdef scan_of_two_xs
  return scan([](Tensor s, Tensor x) { return std::pair(s + x, s); }, c, xs, ys);
#else
  return scan(
      [](Tensor s, std::pair<Tensor, Tensor> x) { return std::pair(s + x.first, x.second); }, c,
      std::pair(xs, ys));
#endif
}
