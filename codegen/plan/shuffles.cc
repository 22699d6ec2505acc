// Vectors whose lanes come from other vectors.
#include <algorithm>
#include <utility>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

// The least number of parts that `count` vectors are shuffled in, which are more than one: shuffles
// of shuffles of few vectors are fewer than those of all.
size_t parts_of(size_t count) {
  size_t parts = 2;
  while (count % parts != 0) ++parts;
  return parts;
}

// Every `parts`-th element of the vectors, from element `part` on.
std::vector<NodeId> every(PlanBuilder& builder, std::span<const NodeId> vectors, size_t part,
                          size_t parts) {
  const auto lanes = static_cast<size_t>(builder.type(vectors[0]).lanes);
  std::vector<LaneSource> sources;
  for (size_t element = part; element < lanes * parts; element += parts)
    sources.push_back(
        {static_cast<uint32_t>(element / lanes), static_cast<uint32_t>(element % lanes)});
  std::vector<NodeId> out;
  for (size_t i = 0; i < vectors.size(); i += parts)
    out.push_back(builder.shuffle(vectors.subspan(i, parts), sources));
  return out;
}

constexpr size_t kMostJoined = 3;  // vectors that one row is shuffled of

// Where a lane comes from, through all shuffles.
std::pair<NodeId, uint32_t> origin_of(const Plan& plan, NodeId node, uint32_t lane) {
  while (plan.at(node).op == Op::kShuffle) {
    const LaneSource& source = plan.shuffles[static_cast<size_t>(plan.at(node).imm)][lane];
    node = plan.args_of(plan.at(node))[source.operand];
    lane = source.lane;
  }
  return {node, lane};
}

// The rows as shuffles of what the columns are shuffled of; empty: a row comes from many vectors.
std::vector<NodeId> joined_rows(PlanBuilder& builder, std::span<const NodeId> columns) {
  const auto lanes = static_cast<size_t>(builder.type(columns[0]).lanes);
  std::vector<std::vector<NodeId>> sources(columns.size());
  std::vector<std::vector<LaneSource>> from(columns.size());
  for (size_t row = 0; row < columns.size(); ++row) {
    for (size_t i = row * lanes; i < (row + 1) * lanes; ++i) {
      const auto [node, lane] = origin_of(builder.plan(), columns[i % columns.size()],
                                          static_cast<uint32_t>(i / columns.size()));
      if (builder.type(node) != builder.type(columns[0])) return {};
      const auto known = std::ranges::find(sources[row], node);
      from[row].push_back({static_cast<uint32_t>(known - sources[row].begin()), lane});
      if (known != sources[row].end()) continue;
      if (sources[row].size() == kMostJoined) return {};
      sources[row].push_back(node);
    }
  }
  std::vector<NodeId> rows;
  for (size_t row = 0; row < columns.size(); ++row)
    rows.push_back(builder.shuffle(sources[row], std::move(from[row])));
  return rows;
}

}  // namespace

NodeId PlanBuilder::column_of(std::span<const NodeId> rows, size_t column) {
  if (rows.size() == 1) return rows[0];
  const size_t parts = parts_of(rows.size());
  return column_of(every(*this, rows, column % parts, parts), column / parts);
}

std::vector<NodeId> PlanBuilder::columns_of(std::span<const NodeId> rows) {
  if (rows.size() == 1) return {rows[0]};
  const size_t parts = parts_of(rows.size());
  std::vector<NodeId> columns(rows.size());
  for (size_t part = 0; part < parts; ++part) {
    const std::vector<NodeId> own = columns_of(every(*this, rows, part, parts));
    for (size_t i = 0; i < own.size(); ++i) columns[part + i * parts] = own[i];
  }
  return columns;
}

std::vector<NodeId> PlanBuilder::rows_of(std::span<const NodeId> columns) {
  const size_t count = columns.size();
  if (count == 1) return {columns[0]};
  if (std::vector<NodeId> rows = joined_rows(*this, columns); !rows.empty()) return rows;
  const size_t parts = parts_of(count);
  const auto lanes = static_cast<size_t>(type(columns[0]).lanes);
  std::vector<std::vector<NodeId>> of_part;
  for (size_t part = 0; part < parts; ++part) {
    std::vector<NodeId> own;
    for (size_t i = part; i < count; i += parts) own.push_back(columns[i]);
    of_part.push_back(rows_of(own));
  }
  std::vector<NodeId> rows;
  for (size_t i = 0; i < count / parts; ++i) {
    std::vector<NodeId> vectors;
    for (size_t part = 0; part < parts; ++part) vectors.push_back(of_part[part][i]);
    for (size_t first = 0; first < parts * lanes; first += lanes) {
      std::vector<LaneSource> sources;
      for (size_t element = first; element < first + lanes; ++element)
        sources.push_back(
            {static_cast<uint32_t>(element % parts), static_cast<uint32_t>(element / parts)});
      rows.push_back(shuffle(vectors, std::move(sources)));
    }
  }
  return rows;
}

std::vector<NodeId> PlanBuilder::moved_rows(std::span<const NodeId> columns) {
  std::vector<int64_t> offsets;  // of the columns' first lanes from that of the first column
  std::optional<Strided> first;
  for (const NodeId column : columns) {
    const auto found = strided_.find(column);
    if (found == strided_.end()) return {};
    const Strided& own = found->second;
    if (!first) first = own;
    const auto offset = distance(first->at, own.at);
    if (!offset || own.buffer != first->buffer || own.step != first->step) return {};
    offsets.push_back(*offset);
  }
  const Type loaded = type(columns[0]);
  std::vector<NodeId> rows;
  for (size_t row = 0; row < columns.size(); ++row) {
    std::vector<int64_t> places;
    for (size_t i = 0; i < static_cast<size_t>(loaded.lanes); ++i) {
      const size_t element = row * static_cast<size_t>(loaded.lanes) + i;
      places.push_back(offsets[element % columns.size()] +
                       static_cast<int64_t>(element / columns.size()) * first->step);
    }
    // Vectors from the least place to the greatest, and no element beyond.
    const auto [low, high] = std::ranges::minmax(places);
    const int64_t span = high - low + 1, count = (span + loaded.lanes - 1) / loaded.lanes;
    if (span < loaded.lanes || count > static_cast<int64_t>(kMostJoined)) return {};
    std::vector<NodeId> vectors;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t start = low + std::min<int64_t>(i * loaded.lanes, span - loaded.lanes);
      vectors.push_back(load(first->buffer, loaded, add(first->at, start)));
    }
    std::vector<LaneSource> sources;
    for (const int64_t place : places) {
      const int64_t vector = (place - low) / loaded.lanes;
      const int64_t start = std::min<int64_t>(vector * loaded.lanes, span - loaded.lanes);
      sources.push_back(
          {static_cast<uint32_t>(vector), static_cast<uint32_t>(place - low - start)});
    }
    rows.push_back(shuffle(vectors, std::move(sources)));
  }
  return rows;
}

NodeId PlanBuilder::shuffle(std::span<const NodeId> operands, std::vector<LaneSource> lanes) {
  const Type wide = {type(operands[0]).scalar, static_cast<int32_t>(lanes.size())};
  plan_.shuffles.push_back(std::move(lanes));
  const size_t depth = depth_for(operands, 0);
  const NodeId id = make(
      {.op = Op::kShuffle, .type = wide, .imm = static_cast<int64_t>(plan_.shuffles.size() - 1)},
      operands);
  depth_[id.value] = static_cast<uint16_t>(depth);
  plan_.blocks[open_[depth].block.value].nodes.push_back(id);
  return id;
}

}  // namespace heddle::cpu
