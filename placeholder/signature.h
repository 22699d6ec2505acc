// Signature: the type of a traced function. It has the leaves in tree order, each with its path.
#pragma once

#include <string>
#include <vector>

#include "heddle/hlo/shape.h"

namespace heddle {

// One array of a tree.
struct SignatureLeaf {
  std::string path;  // "arg0.w", "arg1[1]"; empty where the tree is one leaf without a name
  Shape shape;
  friend bool operator==(const SignatureLeaf&, const SignatureLeaf&) = default;
};

struct Signature {
  std::string name;             // of the function
  std::vector<SignatureLeaf> arguments;  // parameters that the caller passes
  std::vector<SignatureLeaf>
      captures;  // parameters after them: device values that the function captured
  std::vector<SignatureLeaf> results;
  friend bool operator==(const Signature&, const Signature&) = default;
};

// Returns "main(arg0.w: f32[6,4], arg1: f32[8,2]) captures (b: f32[4]) -> (f32[])"; one leaf a line
// where that is longer than 100 columns.
[[nodiscard]] std::string to_string(const SignatureLeaf& leaf);
[[nodiscard]] std::string to_string(const Signature& signature);

}  // namespace heddle
