// For tests of expand_lapack().
#pragma once

#include <stdexcept>
#include <string>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/transform/lapack/expand.h"

namespace heddle::transform {

inline hlo::Module parsed(const std::string& text) {
  auto module = hlo::parse_text(text);
  if (!module.ok()) throw std::runtime_error(base::message_of(module.status()));
  return *std::move(module);
}

inline hlo::Module expanded(const hlo::Module& module, bool unrolls = false) {
  const auto out = expand_lapack(module, nullptr, unrolls);
  if (!out.ok()) throw std::runtime_error(base::message_of(out.status()));
  EXPECT_EQ(hlo::verify(*out, hlo::Stage::kHlo), Status());
  EXPECT_FALSE(has_lapack(*out));
  return *out;
}

}  // namespace heddle::transform
