#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {

const Evaluation kShuffleEvaluation = {
    .evaluate = No{"is not evaluated by the interpreter: its meaning is not known to Heddle"}};

}  // namespace heddle::interpreter
