#include "heddle/transform/sharding/shardy.h"

#include <algorithm>
#include <map>
#include <optional>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/shardy_mesh.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::transform {
namespace {

using hlo::Sharding;

constexpr std::string_view kMeshes = "xla.sdy.meshes";

const Sharding* sharding_of(const Instruction& instruction) {
  const auto& sharding = instruction.extras->sharding;
  return sharding.has_value() ? &*sharding : nullptr;
}

// {manual} marks a value inside of shard_map.
bool is_manual(const Instruction& instruction) {
  const Sharding* sharding = sharding_of(instruction);
  return sharding != nullptr && sharding->type == Sharding::Type::kManual;
}

void set_attribute(Instruction& instruction, std::string_view name, std::string value) {
  auto& attributes = instruction.extras.mutate().frontend_attributes;
  std::erase_if(attributes, [&](const auto& item) { return item.first == name; });
  attributes.emplace_back(std::string(name), std::move(value));
  std::ranges::sort(attributes);
}

std::string per_value(const std::string& shardings) {
  return base::cat("#sdy.sharding_per_value<[", shardings, "]>");
}

// The shardings of the entry's results: those of the root, else those of its elements.
std::vector<const Sharding*> result_shardings(const Computation& entry) {
  const Instruction& root = entry.root_instruction();
  if (root.opcode != Opcode::kTuple) return {sharding_of(root)};
  if (root.extras->sharding.has_value()) {
    const auto leaves = hlo::leaf_shardings(sharding_of(root), root.shape);
    if (leaves.ok() && leaves->size() == root.operands.size()) return *leaves;
  }
  std::vector<const Sharding*> out;
  for (InstructionId element : root.operands) out.push_back(sharding_of(entry.at(element)));
  return out;
}

// One shard_map of a computation: where its results become whole again.
struct Mapped {
  std::vector<InstructionId>
      whole;  // by result: SPMDShardToFullShape; not valid(): nobody reads it
};

class ShardyWriter {
 public:
  explicit ShardyWriter(const hlo::Module& module)
      : from_(module), into_(module), mesh_(module.extras->num_partitions) {}

  StatusOr<hlo::Module> run() && {
    HEDDLE_RETURN_IF_ERROR(read_mesh());
    for (ComputationId id : into_.order()) HEDDLE_RETURN_IF_ERROR(write(id));
    HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, std::move(into_).finish());
    auto& attributes = out.extras.mutate().frontend_attributes;
    attributes.emplace_back(std::string(kMeshes), mesh_.text());
    std::ranges::sort(attributes);
    return out;
  }

 private:
  Status read_mesh() {
    const auto add = [&](const Sharding* sharding, const Shape& shape) {
      return sharding == nullptr ? Status() : mesh_.add(*sharding, shape);
    };
    for (const Computation& computation : from_.computations) {
      for (const Instruction& instruction : computation.instructions) {
        const bool counts = hlo::is_custom(instruction, "Sharding") ||
                            hlo::is_custom(instruction, "SPMDShardToFullShape");
        if (counts && !is_manual(instruction))
          HEDDLE_RETURN_IF_ERROR(add(sharding_of(instruction), instruction.shape));
      }
    }
    const Computation& entry = from_.entry_computation();
    for (InstructionId parameter : entry.parameters) {
      const Sharding* sharding = sharding_of(entry.at(parameter));
      HEDDLE_RETURN_IF_ERROR(add(sharding, entry.at(parameter).shape));
      HEDDLE_RETURN_IF_ERROR(check_divides(sharding, entry.at(parameter).shape));
    }
    const std::vector<const Sharding*> results = result_shardings(entry);
    const Shape& shape = entry.result_shape();
    for (size_t i = 0; i < results.size(); ++i) {
      const Shape& of = shape.is_tuple() ? shape.elements()[i] : shape;
      HEDDLE_RETURN_IF_ERROR(add(results[i], of));
      HEDDLE_RETURN_IF_ERROR(check_divides(results[i], of));
    }
    return mesh_.check();
  }

  // Shardy ignores a sharding whose parts are not all full. The sharding must have been added.
  [[nodiscard]] static Status check_divides(const Sharding* sharding, const Shape& shape) {
    if (sharding == nullptr || !shape.is_array()) return {};
    const std::vector<int64_t>& counts = sharding->tile_dimensions;  // empty if it is replicated
    for (size_t d = 0; d < counts.size() && d < shape.dimensions().size(); ++d) {
      if (shape.dimensions()[d] % counts[d] == 0) continue;
      return base::unimplemented("sharding ", hlo::to_string(*sharding), " cuts dimension ", d,
                                 " of ", shape, " in ", counts[d],
                                 " parts, of which it is no multiple; leave it to GSPMD");
    }
    return {};
  }

  Status write(ComputationId id) {
    Rebuilder to(into_, id);
    HEDDLE_ASSIGN_OR_RETURN(const auto maps, maps_of(to.from()));
    for (InstructionId i : to.order()) HEDDLE_RETURN_IF_ERROR(write(to, i, id, maps));
    hlo::Value root = to.value(to.from().root);
    if (id == from_.entry) {
      HEDDLE_ASSIGN_OR_RETURN(root, with_results(to, root));
    }
    Computation now = std::move(to).finish(root.id());
    sweep(now, into_.effects());
    into_.replace(id, std::move(now));
    return {};
  }

  using Maps = std::map<InstructionId, Mapped>;

  // The calls of shard_map: all their operands are tiles.
  static StatusOr<Maps> maps_of(const Computation& computation) {
    Maps maps;
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      const InstructionId id(i);
      const Instruction& instruction = computation.at(id);
      if (is_map(computation, instruction)) maps[id].whole.resize(result_count(instruction));
      if (!hlo::is_custom(instruction, "SPMDShardToFullShape")) continue;
      const auto made = made_by(computation, instruction);
      if (!made || !maps.contains(made->call)) return lost(instruction);
      InstructionId& whole = maps[made->call].whole[made->result];
      if (whole.valid()) return lost(instruction);
      whole = id;
    }
    return maps;
  }

  static size_t result_count(const Instruction& call) {
    return call.shape.is_tuple() ? call.shape.elements().size() : 1;
  }

  static Status lost(const Instruction& mark) {
    return base::unimplemented("custom-call ", mark.name,
                               " is not at the edge of a shard_map's call; leave it to GSPMD");
  }

  static bool is_map(const Computation& computation, const Instruction& call) {
    return call.opcode == Opcode::kCall && !call.operands.empty() &&
           std::ranges::all_of(call.operands, [&](InstructionId operand) {
             return hlo::is_custom(computation.at(operand), "SPMDFullToShardShape");
           });
  }

  struct Made {
    InstructionId call;
    size_t result;
  };
  // The call behind a ShardToFull: through the {manual} mark and the tuple of results.
  static std::optional<Made> made_by(const Computation& computation, const Instruction& whole) {
    InstructionId from = whole.operands[0];
    if (hlo::is_custom(computation.at(from), "Sharding")) from = computation.at(from).operands[0];
    if (computation.at(from).opcode == Opcode::kCall) return Made{from, 0};
    if (computation.at(from).opcode != Opcode::kGetTupleElement) return std::nullopt;
    const auto index = computation.at(from).attrs.get<hlo::TupleIndexAttrs>().index;
    return Made{computation.at(from).operands[0], static_cast<size_t>(index)};
  }

  Status write(Rebuilder& to, InstructionId i, ComputationId id, const Maps& maps) {
    const Instruction& old = to.old(i);
    if (const auto map = maps.find(i); map != maps.end()) return write_map(to, i, map->second);
    if (hlo::is_custom(old, "SPMDShardToFullShape")) return {};  // written with its call
    if (hlo::is_custom(old, "SPMDFullToShardShape")) {
      to.replace(i, to[old.operands[0]]);  // only its call reads it, which follows
      return only_maps_read(to.from(), i);
    }
    if (hlo::is_custom(old, "Sharding") && is_manual(old)) {
      to.replace(i, to[old.operands[0]]);
      return {};
    }
    Instruction& now = to.builder().mutable_at(to.copy(i));
    const bool is_parameter = old.opcode == Opcode::kParameter && id == from_.entry;
    const bool is_mark = hlo::is_custom(old, "Sharding");
    if (!is_parameter && !is_mark) {
      if (now.extras->sharding.has_value()) now.extras.mutate().sharding.reset();
      return {};
    }
    if (!now.shape.is_array()) return {};
    HEDDLE_ASSIGN_OR_RETURN(const std::string text,
                            mesh_.text_of(sharding_of(old), now.shape.rank()));
    set_attribute(now, "xla.sdy.sharding", is_mark ? per_value(text) : "#sdy.sharding" + text);
    return {};
  }

  static Status only_maps_read(const Computation& computation, InstructionId tile) {
    if (tile == computation.root) return lost(computation.at(tile));
    for (const Instruction& reader : computation.instructions) {
      if (std::ranges::find(reader.operands, tile) != reader.operands.end() &&
          !is_map(computation, reader))
        return lost(computation.at(tile));
    }
    return {};
  }

  // Tiles, the call, whole arrays.
  Status write_map(Rebuilder& to, InstructionId i, const Mapped& map) {
    const Instruction& old = to.old(i);
    hlo::Graph& graph = to.in_place_of(i);
    HEDDLE_ASSIGN_OR_RETURN(const hlo::Values tiles, tiles_of(to, graph, old));
    const ComputationId body = body_of(old.called[0]);
    const hlo::Value call = graph.op(Opcode::kCall, tiles, hlo::CallAttrs(), {body});
    set_attribute(graph.mutable_at(call), "inlineable", "false");
    to.replace(i, call);
    return make_whole(to, call, map);
  }

  // Each call has a computation of its own. Shardy knows it by that computation's name.
  ComputationId body_of(ComputationId old) {
    Computation body = into_.into().at(into_[old]);
    body.name =
        base::cat("xla.sdy.manual_computation_body", bodies_ == 0 ? "" : base::cat(".", bodies_));
    ++bodies_;
    return into_.add(std::move(body));
  }

  StatusOr<hlo::Values> tiles_of(Rebuilder& to, hlo::Graph& graph, const Instruction& call) {
    hlo::Values arrays;
    std::vector<Shape> shapes;
    std::string shardings;
    for (InstructionId operand : call.operands) {
      const Instruction& tile = to.old(operand);
      const Instruction& whole = to.old(tile.operands[0]);
      HEDDLE_ASSIGN_OR_RETURN(const std::string text,
                              mesh_.text_of(sharding_of(whole), whole.shape.rank()));
      base::append(shardings, shardings.empty() ? "" : ", ", text);
      arrays.push_back(to.value(operand));
      shapes.push_back(tile.shape);
    }
    return changed_view(graph, "xla.sdy.GlobalToLocalShape", arrays, shapes,
                        {"xla.sdy.in_shardings", per_value(shardings)});
  }

  Status make_whole(Rebuilder& to, const hlo::Value& call, const Mapped& map) {
    hlo::Graph& graph = call.graph();
    hlo::Values tiles = {call};
    if (call.shape().is_tuple()) tiles = graph.elements(call);
    std::vector<Shape> shapes;
    std::string shardings;
    for (size_t result = 0; result < tiles.size(); ++result) {
      const InstructionId id = map.whole[result];
      shapes.push_back(id.valid() ? to.old(id).shape : tiles[result].shape());
      HEDDLE_ASSIGN_OR_RETURN(
          const std::string text,
          mesh_.text_of(id.valid() ? sharding_of(to.old(id)) : nullptr, shapes.back().rank()));
      base::append(shardings, shardings.empty() ? "" : ", ", text);
    }
    if (tiles.empty()) return {};
    const hlo::Values whole = changed_view(graph, "xla.sdy.LocalToGlobalShape", tiles, shapes,
                                           {"xla.sdy.out_shardings", per_value(shardings)});
    for (size_t result = 0; result < whole.size(); ++result) {
      if (map.whole[result].valid()) to.replace(map.whole[result], whole[result]);
    }
    return {};
  }

  hlo::Values changed_view(hlo::Graph& graph, std::string_view target, const hlo::Values& operands,
                           const std::vector<Shape>& shapes,
                           const std::pair<std::string, std::string>& attribute) {
    hlo::CustomCallAttrs attrs;
    attrs.custom_call_target = target;
    attrs.custom_call_has_side_effect = true;
    const Shape shape = shapes.size() == 1 ? shapes[0] : Shape::tuple(shapes);
    const hlo::Value result = graph.op(Opcode::kCustomCall, operands, std::move(attrs), {}, &shape);
    Instruction& call = graph.mutable_at(result);
    set_attribute(call, attribute.first, attribute.second);
    set_attribute(call, "xla.sdy.manual_axes",
                  base::cat("#sdy<manual_axes{", mesh_.all_axes(), "}>"));
    return shape.is_tuple() ? graph.elements(result) : hlo::Values{result};
  }

  // The root, with the shardings of its results.
  StatusOr<hlo::Value> with_results(Rebuilder& to, const hlo::Value& root) {
    const Instruction& old = to.from().root_instruction();
    hlo::Graph& graph = to.in_place_of(to.from().root);
    const std::vector<const Sharding*> shardings = result_shardings(to.from());
    const bool is_tuple = root.shape().is_tuple();
    hlo::Values results = {root};
    if (is_tuple) results = graph.wrap(graph.at(root.id()).operands);
    if (results.size() != shardings.size() ||
        old.shape.is_tuple() != (old.opcode == Opcode::kTuple))
      return base::unimplemented("the root is no flat tuple of arrays; make it one");
    for (size_t i = 0; i < results.size(); ++i) {
      HEDDLE_ASSIGN_OR_RETURN(results[i], marked_result(results[i], shardings[i]));
    }
    const hlo::Value now = is_tuple ? graph.tuple(results) : results[0];
    if (const Sharding* whole = sharding_of(old))
      graph.mutable_at(now).extras.mutate().sharding = base::Box<Sharding>(*whole);
    return now;
  }

  StatusOr<hlo::Value> marked_result(const hlo::Value& result, const Sharding* sharding) {
    const Shape shape = result.shape();
    HEDDLE_ASSIGN_OR_RETURN(const std::string text, mesh_.text_of(sharding, shape.rank()));
    hlo::CustomCallAttrs attrs;
    attrs.custom_call_target = "xla.sdy.FuncResultSharding";
    attrs.custom_call_has_side_effect = true;
    hlo::Graph& graph = result.graph();
    const hlo::Value mark = graph.op(Opcode::kCustomCall, {result}, std::move(attrs), {}, &shape);
    set_attribute(graph.mutable_at(mark), "xla.sdy.sharding", per_value(text));
    return mark;
  }

  const hlo::Module& from_;
  ModuleRebuilder into_;
  ShardyMesh mesh_;
  int bodies_ = 0;
};

}  // namespace

StatusOr<hlo::Module> to_shardy(const hlo::Module& module) {
  const hlo::ModuleExtras& extras = *module.extras;
  const auto is_done = [](const auto& item) { return item.first == kMeshes; };
  if (extras.num_partitions <= 1 || std::ranges::any_of(extras.frontend_attributes, is_done))
    return module;
  return ShardyWriter(module).run();
}

}  // namespace heddle::transform
