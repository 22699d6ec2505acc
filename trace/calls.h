// The typed forms of a program's run(): trees in, a tree out. Programs and compiled programs share
// them. Private to Heddle.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle::trace_internal {

// errors: throws Error that names the argument of another structure, or their number
[[noreturn]] void throw_other_arguments(std::string_view program,
                                        const std::vector<TreeSpec>& given,
                                        const std::vector<TreeSpec>& want, SourceLocation at);
// errors: throws Error that says what the program returns
[[noreturn]] void throw_other_result(std::string_view program, const TreeSpec& returned,
                                     SourceLocation at);

// Self has signature(), argument_specs(), result_spec() and run(leaves, at).
template <class Self>
class Calls {
 public:
  // Runs it on trees like those it was traced with: of the same structure, names and lengths; Out
  // is what fn returned. errors: as run(), and naming the argument that has another structure, or
  // where Out has. Nothing can stand behind a list of any length, so errors know the line of the
  // call with up to 8 arguments; with more, use call_at.
  template <Tree Out>
  Out call(SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at);
  }
  template <Tree Out, Tree A>
  Out call(const A& a, SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a);
  }
  template <Tree Out, Tree A, Tree B>
  Out call(const A& a, const B& b, SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b);
  }
  template <Tree Out, Tree A, Tree B, Tree C>
  Out call(const A& a, const B& b, const C& c, SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c);
  }
  template <Tree Out, Tree A, Tree B, Tree C, Tree D>
  Out call(const A& a, const B& b, const C& c, const D& d,
           SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d);
  }
  template <Tree Out, Tree A, Tree B, Tree C, Tree D, Tree E>
  Out call(const A& a, const B& b, const C& c, const D& d, const E& e,
           SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d, e);
  }
  template <Tree Out, Tree A, Tree B, Tree C, Tree D, Tree E, Tree F>
  Out call(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
           SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d, e, f);
  }
  template <Tree Out, Tree A, Tree B, Tree C, Tree D, Tree E, Tree F, Tree G>
  Out call(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
           SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d, e, f, g);
  }
  template <Tree Out, Tree A, Tree B, Tree C, Tree D, Tree E, Tree F, Tree G, Tree H>
  Out call(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
           const H& h, SourceLocation at = SourceLocation::here()) const {
    return call_at<Out>(at, a, b, c, d, e, f, g, h);
  }
  template <Tree Out, Tree A, Tree B, Tree C, Tree D, Tree E, Tree F, Tree G, Tree H, Tree... More>
  requires(sizeof...(More) > 0) Out call(const A& a, const B& b, const C& c, const D& d, const E& e,
                                         const F& f, const G& g, const H& h, const More&... more)
  const { return call_at<Out>({}, a, b, c, d, e, f, g, h, more...); }
  template <Tree Out, Tree... Args>
  Out call_at(SourceLocation at, const Args&... args) const {
    const Self& self = static_cast<const Self&>(*this);
    if (!takes(self.argument_specs(), args...))
      throw_other_arguments(self.signature().name, {tree_spec(args)...}, self.argument_specs(), at);
    if (!fits<Out>(self.result_spec()))
      throw_other_result(self.signature().name, self.result_spec(), at);
    std::vector<Tensor> leaves;
    (for_each_leaf(args, [&](const Tensor& leaf) { leaves.push_back(leaf); }), ...);
    std::vector<Tensor> results = self.run(leaves, at);
    std::span<const Tensor> rest(results);
    return unflatten<Out>(self.result_spec(), rest);
  }

 private:
  friend Self;
  Calls() = default;

  // Whether the arguments have the structures of those that it was traced with; makes nothing.
  template <class... Args>
  static bool takes(const std::vector<TreeSpec>& specs, const Args&... args) {
    [[maybe_unused]] size_t i = 0;
    return specs.size() == sizeof...(Args) && (has_structure(args, specs[i++]) && ...);
  }
};

}  // namespace heddle::trace_internal
