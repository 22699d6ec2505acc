// Where in the program an evaluation rule is called. The Caller of an evaluator's run tells.
#pragma once

#include "heddle/hlo/module.h"

namespace heddle::hlo {

class CallPlace {
 public:
  virtual ~CallPlace() = default;
  // The instruction of the prepared module, the same for every run: the rule may see a copy at the
  // sizes of the moment.
  [[nodiscard]] virtual const Instruction& place() const = 0;
};

}  // namespace heddle::hlo
