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

// errors: throws Error that says what the program returns
[[noreturn]] void throw_other_result(std::string_view program, const TreeSpec& returned,
                                     SourceLocation at);

// Self has signature(), result_spec() and run(leaves, at).
template <class Self>
class Calls {
 public:
  // Runs it on trees like those it was traced with; Out is what fn returned. errors: as run(), and
  // where Out has another structure. Nothing can stand
  // behind a list of any length, so errors know the line of the call with up to 4 arguments; with
  // more, use call_at.
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
  template <Tree Out, Tree A, Tree B, Tree C, Tree D, Tree... More>
  requires(sizeof...(More) > 0) Out
      call(const A& a, const B& b, const C& c, const D& d, const More&... more)
  const { return call_at<Out>({}, a, b, c, d, more...); }
  template <Tree Out, Tree... Args>
  Out call_at(SourceLocation at, const Args&... args) const {
    const Self& self = static_cast<const Self&>(*this);
    std::vector<Tensor> leaves;
    (for_each_leaf(args, [&](const Tensor& leaf) { leaves.push_back(leaf); }), ...);
    if (!fits<Out>(self.result_spec()))
      throw_other_result(self.signature().name, self.result_spec(), at);
    std::vector<Tensor> results = self.run(leaves, at);
    std::span<const Tensor> rest(results);
    return unflatten<Out>(self.result_spec(), rest);
  }

 private:
  friend Self;
  Calls() = default;
};

}  // namespace heddle::trace_internal
