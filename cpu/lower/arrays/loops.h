// Nests of counted loops.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "heddle/codegen/plan/builder.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/shape.h"

namespace heddle::cpu {

// Given the values that the loops carry, returns the next ones.
using NestBody = std::function<std::vector<NodeId>(std::vector<NodeId> carried)>;

// Loops of these sizes around the body, the first outermost; `at` holds their indices while it
// runs. Returns what they carry out.
std::vector<NodeId> loop_nest(PlanBuilder& builder, std::span<const int64_t> sizes,
                              std::vector<NodeId>& at, std::vector<NodeId> carried,
                              const NestBody& body);

// The same of turns that may run in any order, and carry nothing.
void for_each_nest(PlanBuilder& builder, std::span<const int64_t> sizes, std::vector<NodeId>& at,
                   const std::function<void()>& body);

// The index of an element of an array of these sizes, by its number in row-major order.
std::vector<NodeId> index_of(PlanBuilder& builder, std::span<const int64_t> sizes, int64_t number);

// The first lanes of all vectors, then the second ones, and so on.
void store_in_turn(PlanBuilder& builder, BufferId to, NodeId at, std::span<const NodeId> vectors);

int64_t product_of(std::span<const int64_t> sizes);

// The sizes with the last `count` as one.
std::vector<int64_t> with_joined(const Shape& shape, int64_t count);

// The dimension along which vectors lie: the last one of more than one element. -1: none.
int64_t lane_dimension(std::span<const int64_t> sizes);

// The bits of what a fold leaves every value as it is.
int64_t identity_bits(Op fold, Scalar scalar);
// An element may be folded in twice.
bool is_idempotent(Op fold);

// The op only moves elements, and a vector of neighbours is one of its operand's.
bool moves_neighbours(const hlo::Instruction& step);

}  // namespace heddle::cpu
