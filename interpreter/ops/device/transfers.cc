#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

constexpr const char* kPeer =
    "is not evaluated by the interpreter: it is one device, without a peer or host program to "
    "exchange values with; pass the values as "
    "parameters and results";

constexpr const char* kFeed =
    "is not evaluated by the interpreter: no host program feeds it; pass the values as parameters "
    "and results";

}  // namespace

const Evaluation kSendEvaluation = {.evaluate = No{kPeer}};
const Evaluation kSendDoneEvaluation = {.evaluate = No{kPeer}};
const Evaluation kRecvEvaluation = {.evaluate = No{kPeer}};
const Evaluation kRecvDoneEvaluation = {.evaluate = No{kPeer}};
const Evaluation kInfeedEvaluation = {.evaluate = No{kFeed}};
const Evaluation kOutfeedEvaluation = {.evaluate = No{kFeed}};

}  // namespace heddle::interpreter
