#include "heddle/runtime/internal/host_grid.h"

#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/runtime/internal/literal_buffer.h"

namespace heddle::runtime {
namespace {

void append_leaves_of(const Literal& value, std::vector<Literal>& out) {
  if (!value.is_tuple()) return out.push_back(value);
  for (const Literal& element : value.elements()) append_leaves_of(element, out);
}

class HostGrid final : public SpmdExecutable {
 public:
  HostGrid(const hlo::Module& module, GridProgram program, const DeviceGrid& grid, TileShapes tiles,
           std::vector<hlo::Tiles> parameters, std::vector<hlo::Tiles> results,
           std::vector<Shape> wholes)
      : SpmdExecutable(module, grid, std::move(tiles.parameters), std::move(tiles.results)),
        program_(std::move(program)),
        parameters_(std::move(parameters)),
        results_(std::move(results)),
        wholes_(std::move(wholes)) {
    result_bytes_ = total_bytes(result_shapes());
  }

 protected:
  StatusOr<DeviceBuffers> run(const DeviceBuffers& arguments, const ExecuteOptions& options,
                              bool& started) override {
    HEDDLE_ASSIGN_OR_RETURN(const auto tickets, admit(result_bytes_, options.only_if_room));
    HEDDLE_ASSIGN_OR_RETURN(const auto slots, slots_of(arguments));
    started = true;
    HEDDLE_ASSIGN_OR_RETURN(const auto tiles, values_of(slots));
    std::vector<std::vector<Literal>> whole = tiles;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].is_whole()) assemble(i, tiles, whole);
    }
    HEDDLE_ASSIGN_OR_RETURN(const std::vector<Literal> results, program_(std::move(whole)));
    return buffers_of(results);
  }

 private:
  // By device, then by argument.
  using Slots = std::vector<std::vector<std::shared_ptr<Slot>>>;

  static StatusOr<Slots> slots_of(const DeviceBuffers& arguments) {
    Slots slots;
    Status error;
    for (const std::vector<BufferPtr>& of_device : arguments) {
      auto& row = slots.emplace_back();
      for (const BufferPtr& buffer : of_device) {
        auto slot = static_cast<LiteralBuffer&>(*buffer).use();  // of the grid's device
        // execute() saw the buffers whole, so another thread released this one since.
        if (slot == nullptr) error.update(deleted_error("run", buffer->shape()));
        if (slot != nullptr) row.push_back(std::move(slot));
      }
    }
    if (error.ok()) return slots;
    for (const auto& row : slots) {
      for (const std::shared_ptr<Slot>& slot : row) slot->end_use();
    }
    return error;
  }

  // Waits for them: for all, also after an error.
  static StatusOr<std::vector<std::vector<Literal>>> values_of(const Slots& slots) {
    std::vector<std::vector<Literal>> values;
    Status error;
    for (const auto& of_device : slots) {
      auto& row = values.emplace_back();
      for (const std::shared_ptr<Slot>& slot : of_device) {
        StatusOr<Literal> value = slot->share();
        error.update(value.status());
        if (value.ok()) row.push_back(*std::move(value));
      }
    }
    if (!error.ok()) return error;
    return values;
  }

  // Parameter i of every device, out of the tiles that the partitions of its replica hold.
  void assemble(size_t i, const std::vector<std::vector<Literal>>& tiles,
                std::vector<std::vector<Literal>>& whole) const {
    const hlo::Tiles& layout = parameters_[i];
    const auto partitions = static_cast<size_t>(grid().partitions);
    for (size_t first = 0; first < tiles.size(); first += partitions) {
      Literal value = Literal::uninitialised(wholes_[i]);
      for (int64_t holder : layout.holders())
        hlo::place(tiles[first + static_cast<size_t>(holder)][i], layout.start(holder), value);
      for (size_t p = 0; p < partitions; ++p) whole[first + p][i] = value;
    }
  }

  DeviceBuffers buffers_of(const std::vector<Literal>& results) const {
    DeviceBuffers out;
    for (size_t device = 0; device < results.size(); ++device) {
      std::vector<Literal> leaves;
      append_leaves_of(results[device], leaves);
      auto& of_device = out.emplace_back();
      const auto partition = static_cast<int64_t>(device) % grid().partitions;
      for (size_t i = 0; i < leaves.size(); ++i) {
        const Shape& shape = result_shapes()[i];
        auto slot =
            std::make_shared<Slot>(hlo::cut(leaves[i], results_[i].start(partition), shape));
        of_device.push_back(std::make_shared<LiteralBuffer>(*grid().devices[device], shape,
                                                            shape.byte_size(), std::move(slot)));
      }
    }
    return out;
  }

  const GridProgram program_;
  const std::vector<hlo::Tiles> parameters_;
  const std::vector<hlo::Tiles> results_;
  const std::vector<Shape> wholes_;  // types of the parameters
  int64_t result_bytes_ = 0;         // on each device
};

StatusOr<std::vector<hlo::Tiles>> tiles_of_all(const std::vector<Shape>& shapes,
                                               const std::vector<hlo::Sharding>& shardings,
                                               int64_t partitions) {
  std::vector<hlo::Tiles> out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    HEDDLE_ASSIGN_OR_RETURN(out.emplace_back(), hlo::tiles_of(shardings[i], shapes[i], partitions));
  }
  return out;
}

}  // namespace

StatusOr<std::shared_ptr<SpmdExecutable>> make_host_grid(const hlo::Module& module,
                                                         GridProgram program,
                                                         const DeviceGrid& grid) {
  const hlo::Computation& entry = module.entry_computation();
  std::vector<Shape> wholes, results;
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    wholes.push_back(entry.parameter_shape(i));
    if (!wholes.back().is_tuple()) continue;
    return base::unimplemented("compile ", module.name, ": parameter ", i, " is ", wholes.back(),
                               "; on several devices of the interpreter it must be an array");
  }
  append_leaves(entry.result_shape(), results);
  HEDDLE_ASSIGN_OR_RETURN(const EntryShardings shardings, entry_shardings(module));
  HEDDLE_ASSIGN_OR_RETURN(TileShapes tiles, tile_shapes(module, shardings, grid.partitions));
  HEDDLE_ASSIGN_OR_RETURN(auto parameter_tiles,
                          tiles_of_all(wholes, shardings.parameters, grid.partitions));
  HEDDLE_ASSIGN_OR_RETURN(auto result_tiles,
                          tiles_of_all(results, shardings.results, grid.partitions));
  return std::make_shared<HostGrid>(module, std::move(program), grid, std::move(tiles),
                                    std::move(parameter_tiles), std::move(result_tiles),
                                    std::move(wholes));
}

}  // namespace heddle::runtime
