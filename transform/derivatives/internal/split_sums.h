// The split transpose of a scan: the cotangent of a tensor that all steps use is a sum over steps.
// If a step adds a product of small factors to a big sum, as for a matrix of weights,
//
//   sum = sum + dot(a, b)
//
// then the loop gives a and b of each step, and one product after it sums over the steps too. So no
// step reads and writes the sum.
#pragma once

#include <vector>

#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

// Sums with fewer elements stay in the steps: their cache lines are near.
inline constexpr int64_t kLeastElements = 1024;

// A step: (inputs.., known carries.., sums..) -> (outputs.., known carries.., sums..).
struct StepOfSums {
  hlo::ComputationId id;
  size_t inputs, outputs, known;
  int64_t dimension;  // the scanned dimension of inputs and outputs
};

struct SplitSums {
  // One operand of a product: an input of the loop, or one more of its outputs.
  struct Operand {
    bool is_input;
    size_t number;
  };
  struct Product {
    hlo::Instruction dot;
    std::vector<hlo::Instruction> behind;  // of one operand each: how the sum reads it
    Operand a, b;
  };
  hlo::ComputationId id;                       // (.., sums that stay..) -> (outputs.., more.., ..)
  size_t more = 0;                             // further outputs, after the step's own
  std::vector<bool> stays;                     // by sum: whether it is still in the loop
  std::vector<std::vector<Product>> products;  // by sum: the products to add after the loop
};

// may_split: for each sum, whether every step uses it and passes on the sum with its term.
SplitSums split_sums(Writer& writer, const StepOfSums& step, const std::vector<bool>& may_split);

// The sum of a product over all steps; a and b with the scanned dimension.
Value sum_of_products(Graph& graph, const SplitSums::Product& product, const Value& a,
                      const Value& b, int64_t dimension);

}  // namespace heddle::transform
