// The typed forms of a program's run(): trees in, a tree out. Programs and compiled programs share
// them. Private to Heddle.
#pragma once

#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle::trace_internal {

// Never true: it is instantiated where a typed program is given arguments of other types.
template <class... Given>
constexpr void assert_traced_types() {
  static_assert(sizeof...(Given) > 1000,
                "these are not the arguments that the program was traced with: their number or a "
                "type is another; call<Out>(..) takes other trees of the same structure");
}

// errors: throws Error that names the argument of another structure, or their number
[[noreturn]] void throw_other_arguments(std::string_view program,
                                        const std::vector<TreeSpec>& given,
                                        const std::vector<TreeSpec>& want);
// errors: throws Error that says what the program returns
[[noreturn]] void throw_other_result(std::string_view program, const TreeSpec& returned);

// Self has signature(), argument_specs(), result_spec() and run(leaves, at).
template <class Self>
class Calls {
 public:
  // Runs it on trees like those it was traced with: of the same structure, names and lengths; Out
  // is what fn returned. errors: as run(), and naming the argument that has another structure, or
  // where Out has. Nothing can stand behind a list of any length, so errors know the line of the
  // call with up to 8 arguments; with more, use call_at.
  template <class Out>
  Out call(SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at);
  }
  template <class Out, class A>
  Out call(const A& a, SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a);
  }
  template <class Out, class A, class B>
  Out call(const A& a, const B& b, SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b);
  }
  template <class Out, class A, class B, class C>
  Out call(const A& a, const B& b, const C& c, SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c);
  }
  template <class Out, class A, class B, class C, class D>
  Out call(const A& a, const B& b, const C& c, const D& d,
           SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d);
  }
  template <class Out, class A, class B, class C, class D, class E>
  Out call(const A& a, const B& b, const C& c, const D& d, const E& e,
           SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d, e);
  }
  template <class Out, class A, class B, class C, class D, class E, class F>
  Out call(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
           SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d, e, f);
  }
  template <class Out, class A, class B, class C, class D, class E, class F, class G>
  Out call(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
           SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d, e, f, g);
  }
  template <class Out, class A, class B, class C, class D, class E, class F, class G, class H>
  Out call(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
           const H& h, SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d, e, f, g, h);
  }
  template <class Out, class A, class B, class C, class D, class E, class F, class G, class H,
            class... More>
  requires(sizeof...(More) > 0) Out call(const A& a, const B& b, const C& c, const D& d, const E& e,
                                         const F& f, const G& g, const H& h, const More&... more)
  const { return call_at<Out>({}, a, b, c, d, e, f, g, h, more...); }
  template <class Out, class... Args>
  Out call_at(SourceLocation at, const Args&... args) const {
    static_assert(TensorTree<Out>,
                  "call<Out> names what the function returned: a tree of Tensors, or None");
    static_assert((TensorTree<Args> && ...),
                  "an argument of a program is a tree of Tensors; make a tensor of a number with "
                  "scalar(..)");
    if constexpr (TensorTree<Out> && (TensorTree<Args> && ...))
      return call_trees<Out>(at, args...);
    else
      std::terminate();  // never compiled
  }

  // Where nobody names the result's type. Its first parameter keeps call<Out>(..) out.
  template <int kNothing = 0, class... Args>
  void call(const Args&...) const {
    static_assert(kNothing != 0,
                  "name the type of the result, p.call<Out>(..), or keep what trace or compile "
                  "returned as it is, auto p = trace(..), which knows it: p(..)");
  }
  template <class... Args>
  void operator()(const Args&...) const {
    static_assert(sizeof...(Args) > 1000,
                  "name the type of the result, p.call<Out>(..), or keep what trace or compile "
                  "returned as it is, auto p = trace(..), which knows it: p(..)");
  }

 private:
  friend Self;
  Calls() = default;

  template <class Out, class... Args>
  Out call_trees(SourceLocation at, const Args&... args) const {
    const PublicCall running("call", at);
    const Self& self = static_cast<const Self&>(*this);
    self.require_here("call");
    if (!takes(self.argument_specs(), args...))
      throw_other_arguments(self.signature().name, {tree_spec(args)...}, self.argument_specs());
    if (!fits<Out>(self.result_spec()))
      throw_other_result(self.signature().name, self.result_spec());
    std::vector<Tensor> leaves;
    leaves.reserve(self.signature().arguments.size());
    (for_each_leaf(args, [&](const Tensor& leaf) { leaves.push_back(leaf); }), ...);
    std::vector<Tensor> results = self.run(leaves, at);
    std::span<const Tensor> rest(results);
    return unflatten<Out>(self.result_spec(), rest);
  }

  // Whether the arguments have the structures of those that it was traced with; makes nothing.
  template <class... Args>
  static bool takes(const std::vector<TreeSpec>& specs, const Args&... args) {
    [[maybe_unused]] size_t i = 0;
    return specs.size() == sizeof...(Args) && (has_structure(args, specs[i++]) && ...);
  }
};

// What a program is called with that knows what it takes and returns. Base: Program or
// CompiledProgram.
template <class Base, class Out, class... Args>
class TypedCalls : public Base {
 public:
  explicit TypedCalls(Base program) : Base(std::move(program)) {}

  // Runs it, as call<Out>(args..). errors, cost: as run()
  Out operator()(const Args&... args, SourceLocation at = SourceLocation::here()) const {
    return this->template call_at<Out>(at, args...);
  }
  Out call(const Args&... args, SourceLocation at = SourceLocation::here()) const {
    return this->template call_at<Out>(at, args...);
  }
  using Base::call;  // call<Out>(..), of trees of other types and the same structure

  // Arguments of other types.
  template <class... Given>
  void operator()(const Given&...) const {
    assert_traced_types<Given...>();
  }
  template <int kNothing = 0, class... Given>
  void call(const Given&...) const {
    assert_traced_types<Given...>();
  }
};

}  // namespace heddle::trace_internal
