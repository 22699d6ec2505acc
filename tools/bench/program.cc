#include "heddle/tools/bench/program.h"

#include <google/protobuf/util/json_util.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/numpy/npy.h"
#include "heddle/runtime/backend.h"
#include "heddle/tools/program.h"
#include "heddle/tools/proto/bench_meta.pb.h"

namespace heddle::tools {
namespace {

namespace fs = std::filesystem;

// The output function of splitmix64.
uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Element i of an input, before it is rounded to its type.
double element(const proto::BenchGenerator& from, uint64_t i) {
  const uint64_t bits = mix(((from.seed() << 40) + i) * 0x9E3779B97F4A7C15) >> 11;
  const double x = from.lo() + (from.hi() - from.lo()) * std::ldexp(static_cast<double>(bits), -53);
  return from.floor() ? std::floor(x) : x;
}

StatusOr<Literal> generated(const proto::BenchGenerator& from, const Shape& shape) {
  const bool is_const = from.gen() == "const";
  if (!is_const && from.gen() != "splitmix64_counter")
    return base::invalid_argument("generator \"", from.gen(),
                                  "\"; it must be const or splitmix64_counter");
  Literal out = Literal::uninitialised(shape);
  std::byte* to = out.mutable_bytes();
  std::array<double, 1024> block;
  const auto block_size = static_cast<int64_t>(block.size());
  for (int64_t begin = 0; begin < shape.element_count(); begin += block_size) {
    const int64_t count = std::min(block_size, shape.element_count() - begin);
    for (int64_t i = 0; i < count; ++i)
      block[i] = is_const ? from.value() : element(from, static_cast<uint64_t>(begin + i));
    store(shape.dtype(), block.data(), count, to + begin * storage_bytes(shape.dtype()));
  }
  return out;
}

StatusOr<Literal> read_array(const fs::path& path, DType dtype) {
  HEDDLE_ASSIGN_OR_RETURN(const std::string bytes, read_file(path));
  StatusOr<Literal> value = hlo::read_npy(bytes, dtype);
  if (!value.ok()) return base::annotate(value.status(), path.string(), ": ");
  return value;
}

StatusOr<Literal> input_of(const fs::path& folder, const proto::BenchInput& input,
                           const Shape& shape) {
  StatusOr<Literal> value = input.has_generator()
                                ? generated(input.generator(), shape)
                                : read_array(folder / input.file(), shape.dtype());
  if (!value.ok()) return value;
  if (!same_type(value->shape(), shape))
    return base::invalid_argument("is ", value->shape(), "; the parameter is ", shape);
  const auto* bytes = reinterpret_cast<const Bytef*>(value->bytes());
  const auto crc = crc32_z(0, bytes, static_cast<size_t>(value->byte_size()));
  if (input.has_crc32() && input.crc32() != crc) {
    return base::invalid_argument("has the crc32 ", crc, "; meta.json says ", input.crc32());
  }
  return value;
}

std::vector<Shape> parameter_leaves(const hlo::Module& module) {
  std::vector<Shape> leaves;
  const hlo::Computation& entry = module.entry_computation();
  for (size_t i = 0; i < entry.parameter_count(); ++i)
    runtime::append_leaves(entry.parameter_shape(i), leaves);
  return leaves;
}

Literal flat(const Literal& array) {
  return array.reshaped(Shape(array.shape().dtype(), {array.element_count()}));
}

StatusOr<ExpectedOutput> expected_of(const fs::path& folder, const proto::BenchOutput& output,
                                     int number, DType dtype) {
  ExpectedOutput out{.stride = std::max<int64_t>(1, output.stride())};
  if (output.has_sum()) out.sum = output.sum();
  if (output.has_abs_sum()) out.abs_sum = output.abs_sum();
  if (output.has_l2()) out.l2 = output.l2();
  const fs::path samples = folder / base::cat("out", number, ".npy");
  if (!fs::exists(samples)) return out;
  HEDDLE_ASSIGN_OR_RETURN(const Literal values, read_array(samples, dtype));
  out.samples = flat(values);
  return out;
}

Status read_meta(const fs::path& folder, BenchProgram& program) {
  HEDDLE_ASSIGN_OR_RETURN(const std::string text, read_file(folder / "meta.json"));
  proto::BenchMeta meta;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &meta, options);
  if (!status.ok()) return base::invalid_argument("meta.json: ", status.ToString());
  if (!meta.name().empty()) program.name = meta.name();
  if (meta.steps() > 0) program.steps = meta.steps();
  if (!meta.unit().empty()) program.unit = meta.unit();
  program.donate.assign(meta.donated_parameters().begin(), meta.donated_parameters().end());

  const std::vector<Shape> parameters = parameter_leaves(program.module);
  std::vector<Shape> results;
  runtime::append_leaves(program.module.entry_computation().result_shape(), results);
  const auto misfit = [](const char* what, int listed, size_t there) {
    return base::invalid_argument("meta.json lists ", listed, " ", what, "; the program has ",
                                  there);
  };
  if (static_cast<size_t>(meta.inputs_size()) != parameters.size())
    return misfit("inputs", meta.inputs_size(), parameters.size());
  if (meta.outputs_size() > 0 && static_cast<size_t>(meta.outputs_size()) != results.size())
    return misfit("outputs", meta.outputs_size(), results.size());
  for (int i = 0; i < meta.inputs_size(); ++i) {
    StatusOr<Literal> value = input_of(folder, meta.inputs(i), parameters[i]);
    if (!value.ok()) return base::annotate(value.status(), "input ", i, ": ");
    program.arguments.push_back(*std::move(value));
  }
  for (int i = 0; i < meta.outputs_size(); ++i) {
    HEDDLE_ASSIGN_OR_RETURN(program.expected.emplace_back(),
                            expected_of(folder, meta.outputs(i), i, results[i].dtype()));
  }
  return {};
}

void append_leaves(const Literal& value, std::vector<Literal>& leaves) {
  if (!value.is_tuple()) leaves.push_back(value);
  for (const Literal& part : value.elements()) append_leaves(part, leaves);
}

// Takes the arguments of a pack's case; zeros without a case.
void take_case(const std::optional<conformance::Case>& from, BenchProgram& program) {
  if (!from.has_value()) {
    for (const Shape& shape : parameter_leaves(program.module))
      program.arguments.emplace_back(shape);
    return;
  }
  for (const Literal& argument : from->arguments) append_leaves(argument, program.arguments);
  std::vector<Literal> results;
  append_leaves(from->expected, results);
  for (const Literal& result : results) program.expected.push_back({.samples = flat(result)});
}

}  // namespace

StatusOr<BenchProgram> load_bench_program(const std::string& path) {
  const bool is_folder = fs::is_directory(path);
  const fs::path file = is_folder ? fs::path(path) / "module.hlo.txt" : fs::path(path);
  HEDDLE_ASSIGN_OR_RETURN(Program program, load_program(file));
  const fs::path absolute = fs::absolute(path).lexically_normal();
  const fs::path named = absolute.has_filename() ? absolute : absolute.parent_path();
  BenchProgram out{.name = named.filename(), .module = std::move(program.module)};
  if (is_folder) {
    HEDDLE_RETURN_IF_ERROR(base::annotate(read_meta(path, out), path, ": "));
  } else {
    take_case(program.from_case, out);
  }
  out.module.name = out.name;  // the name for backends
  return out;
}

}  // namespace heddle::tools
