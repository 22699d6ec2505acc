#include "heddle/trace/run/known_program.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "heddle/base/containers/span.h"
#include "heddle/base/system/of_this_thread.h"
#include "heddle/hlo/literal/array_memory.h"
#include "heddle/runtime/host/direct.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/internal/eager.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/replay.h"
#include "heddle/trace/run/run_module.h"
#include "heddle/trace/run/varying_numbers.h"

namespace heddle::trace_internal {

void KnownOptions::add(std::string_view text) {
  put(static_cast<int64_t>(text.size()));
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), sizeof(int64_t)))) {
    int64_t word = 0;
    std::memcpy(&word, text.data(), std::min(text.size(), sizeof word));
    put(word);
  }
}

namespace {

using runtime::BufferPtr;
constexpr size_t kFew = 6;

// What one call is found by.
struct Key {
  std::string_view name;
  std::span<const int64_t> options;
  uint32_t fixed = 0;                              // KnownOptions::fixed()
  absl::InlinedVector<const Shape*, kFew> arrays;  // null: a number
  absl::InlinedVector<DType, kFew> numbers;
  uint64_t device = 0;  // serial number

  [[nodiscard]] uint64_t hash() const {
    uint64_t word = device ^ name.size();
    const auto mix = [&](uint64_t part) {
      word = (word ^ part) * 0x9e3779b97f4a7c15ull;
      word ^= word >> 32;
    };
    uint64_t letters = 0;  // the last of the name
    const size_t some = std::min(name.size(), sizeof letters);
    std::memcpy(&letters, name.data() + name.size() - some, some);
    mix(letters);
    for (size_t i = 0; i < options.size(); ++i)
      if ((fixed >> i & 1) == 0) mix(static_cast<uint64_t>(options[i]));
    for (const Shape* array : arrays) {
      if (array == nullptr) continue;
      mix(static_cast<uint64_t>(array->dtype()));
      for (const int64_t size : array->dimensions()) mix(static_cast<uint64_t>(size));
    }
    return word;
  }
};

// What a thread knows of a program of the cache.
struct KnownProgram {
  KnownProgram() = default;
  KnownProgram(const Key& key, runtime::ProgramHandle handle)
      : name(key.name),
        options(key.options.begin(), key.options.end()),
        numbers(key.numbers.begin(), key.numbers.end()),
        device(key.device),
        program(std::move(handle)) {
    for (const Shape* array : key.arrays) arrays.push_back(array ? *array : Shape());
  }

  std::string_view name;
  std::vector<int64_t> options;
  std::vector<Shape> arrays;  // an invalid one: a number
  std::vector<DType> numbers;
  uint64_t device = 0;
  runtime::ProgramHandle program;

  // `but`: bits of options that may differ.
  [[nodiscard]] bool is_of(const Key& key, uint32_t but = 0) const {
    if (options.size() != key.options.size()) return false;
    for (size_t i = 0; i < options.size(); ++i)
      if (options[i] != key.options[i] && (but >> i & 1) == 0) return false;
    const auto same = [](const Shape& have, const Shape* want) {
      return want == nullptr ? !have.is_valid() : same_type(have, *want);
    };
    return name == key.name && device == key.device &&
           std::ranges::equal(arrays, key.arrays, same) && std::ranges::equal(numbers, key.numbers);
  }
};

// Programs whose keys share a place: two of them that are called in turn both stay.
struct KnownPair {
  KnownProgram newer, older;

  KnownProgram* find(const Key& key) {
    if (newer.is_of(key)) return &newer;
    return older.is_of(key) ? &older : nullptr;
  }
  // The older one goes.
  void add(KnownProgram program) { older = std::exchange(newer, std::move(program)); }
};
using KnownPrograms = std::array<KnownPair, 256>;

constexpr char kFixedNumbers = 0;  // its address names their places

// An array as an operand of a program; null for all else.
const Node* plain_array(const Operand& operand) {
  if (concrete_buffer(operand) == nullptr) return nullptr;
  const Node& node = *operand.tensor().node();
  const bool is_plain = !node.sharding && !node.shape.is_dynamic() && !node.shape.has_layout();
  return is_plain && !node.buffer->is_deleted() ? &node : nullptr;
}

// The arguments of one call: arrays, and numbers that go to their device when all is known.
class Arguments {
 public:
  // Whether they are of a kind that programs take.
  bool read(std::span<const KnownOperand> operands, Key& key) {
    for (const KnownOperand& each : operands) {
      const Node* node = plain_array(*each.operand);
      if (node == nullptr) {
        if (each.operand->is_tensor() || !element_.set(*each.operand, each.number_dtype))
          return false;
        buffers_.emplace_back();
        key.arrays.push_back(nullptr);
        key.numbers.push_back(each.number_dtype);
        continue;
      }
      if (device_ == nullptr) device_ = &node->buffer->device();
      if (device_ != &node->buffer->device()) return false;
      buffers_.push_back(node->buffer);
      key.arrays.push_back(&node->buffer->shape());
    }
    if (device_ == nullptr) {
      const auto found = runtime::find_default_device();
      if (!found.ok()) return false;
      device_ = *found;
    }
    key.device = device_->serial();
    return true;
  }
  bool put_numbers(std::span<const KnownOperand> operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (buffers_[i] != nullptr) continue;
      (void)element_.set(*operands[i].operand, operands[i].number_dtype);
      Literal number = Literal::uninitialised(Shape::scalar(operands[i].number_dtype));
      std::memcpy(number.mutable_bytes(), element_.bytes(),
                  static_cast<size_t>(number.byte_size()));
      auto buffer = runtime::number_to_device(*device_, number);
      if (!buffer.ok()) return false;
      buffers_[i] = *std::move(buffer);
    }
    return true;
  }
  [[nodiscard]] runtime::Device& device() const { return *device_; }
  [[nodiscard]] std::span<BufferPtr> buffers() { return {buffers_.data(), buffers_.size()}; }

 private:
  runtime::Device* device_ = nullptr;
  absl::InlinedVector<BufferPtr, kFew> buffers_;
  Element element_;
};

using Results = base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)>;

// Null where the formula makes a mistake, which the usual way reports, or reads what is no operand.
runtime::ModulePtr traced(const Key& key, Results formula) {
  try {
    Recorder recorder(key.name);
    std::vector<Tensor> operands;
    auto number = key.numbers.begin();
    for (const Shape* array : key.arrays)
      operands.push_back(recorder.parameter(array ? *array : Shape::scalar(*number++)));
    Traced traced = recorder.finish(formula(operands), key.name);
    if (!traced.captures.empty()) return nullptr;
    return std::make_shared<const hlo::Module>(std::move(traced.module));
  } catch (const Error&) {
    return nullptr;
  }
}

// Whether numbers that programs of the key have in them are others from call to call. The key's
// hash leaves them out.
bool has_varying_numbers(const Key& key) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < key.options.size(); ++i)
    if (key.fixed >> i & 1) numbers.push_back(key.options[i]);
  const SourceLocation at = PublicCall::line_or({});
  const NumberPlace place{.place = place_of(key.name.data(), &kFixedNumbers, at),
                          .types = key.hash()};
  return varies(place, std::as_bytes(std::span(numbers)));
}

// Null where the call has to go the usual way. errors: throws Error of the compilation
std::shared_ptr<runtime::Executable> program_of(const Key& key, Results formula,
                                                runtime::Device& device) {
  auto* all = base::of_this_thread<KnownPrograms>();
  if (all == nullptr) return nullptr;
  KnownPair& pair = (*all)[key.hash() % all->size()];
  KnownProgram* known = pair.find(key);
  std::shared_ptr<runtime::Executable> executable;
  if (known != nullptr) executable = known->program.get();
  if (executable != nullptr) return executable;
  if (known == nullptr && key.fixed != 0 && has_varying_numbers(key)) return nullptr;
  const runtime::ModulePtr module = traced(key, formula);
  if (module == nullptr) return nullptr;
  runtime::ProgramHandle handle;
  executable = value_or_throw(executable_for(module, device, {}, &handle));
  known = pair.find(key);  // a backend may have made others meanwhile
  if (known == nullptr)
    pair.add(KnownProgram(key, std::move(handle)));
  else
    known->program = std::move(handle);
  return executable;
}

bool is_better_recorded(const Key& key) {
  const auto is_large = [](const Shape* x) {
    return x != nullptr && x->element_count() > kMostBesideNumbers;
  };
  return !key.numbers.empty() && std::ranges::any_of(key.arrays, is_large);
}

// Only a device that computes at once in host memory reuses memory without a second program. A few
// bytes are copied sooner.
bool is_worth_reusing(const runtime::Buffer& buffer) {
  constexpr int64_t kLeast = 1024;
  return buffer.size_bytes() >= kLeast && buffer.device().direct_kernels() != nullptr;
}

// errors: throws Error of the run
void run(runtime::Executable& executable, std::span<const BufferPtr> arguments,
         std::span<BufferPtr> results, const runtime::ExecuteOptions& options = {}) {
  const auto start = [&] { throw_at_once(executable.execute_into(arguments, results, options)); };
  if (!base::may_be_observed()) [[likely]] {
    start();
  } else {
    const base::Span span(base::Activity::kCall, executable.name(), PublicCall::line_or({}));
    start();
  }
}

}  // namespace

DType dtype_beside(const Operand& operand) {
  const bool has_dtype = operand.is_tensor() && operand.tensor().is_valid();
  return has_dtype ? operand.tensor().dtype() : DType::kInvalid;
}

Tensor known_program(std::string_view name, const KnownOptions& options,
                     std::span<const KnownOperand> operands, Formula formula,
                     std::optional<size_t> spare) {
  if (Recorder::current() != nullptr) return {};
  const bool may_reuse = spare && own_node(*operands[*spare].operand) != nullptr;
  const auto words = options.words();
  Key key{.name = name,
          .options = words.value_or(std::span<const int64_t>()),
          .fixed = options.fixed()};
  Arguments arguments;
  if (!words || !arguments.read(operands, key)) return {};
  const PublicCall call(name, operands.empty() ? SourceLocation() : operands[0].operand->at());
  const auto all = [&](std::span<const Tensor> xs) { return std::vector<Tensor>{formula(xs)}; };
  const auto executable = program_of(key, all, arguments.device());
  if (executable == nullptr || !arguments.put_numbers(operands)) return {};
  runtime::ExecuteOptions how;
  const void* memory = nullptr;  // that the result may have
  const bool is_once =
      spare && std::ranges::count(arguments.buffers(), arguments.buffers()[*spare]) == 1;
  if (may_reuse && is_once && is_worth_reusing(*arguments.buffers()[*spare])) {
    how.donate.push_back(static_cast<int>(*spare));
    memory = runtime::address_of(*arguments.buffers()[*spare]);
  }
  BufferPtr result;
  run(*executable, arguments.buffers(), std::span(&result, 1), how);
  if (memory != nullptr && runtime::address_of(*result) == memory) count_in_place();
  return tensor_of(std::move(result));
}

Tensor known_program(std::string_view name, const KnownOptions& options,
                     std::initializer_list<KnownOperand> operands, Formula formula) {
  return known_program(name, options, std::span(operands.begin(), operands.size()), formula);
}

std::vector<Tensor> in_program(std::string_view name, const KnownOptions& options,
                               std::span<const KnownOperand> operands, Formulas formula) {
  const PublicCall call(name, operands.empty() ? SourceLocation() : operands[0].operand->at());
  const auto of = [&](const auto& value_of) {
    std::vector<Operand> values;
    for (size_t i = 0; i < operands.size(); ++i) values.push_back(value_of(i));
    return formula(values);
  };
  const auto of_given = [&] { return of([&](size_t i) { return *operands[i].operand; }); };
  if (Recorder::current() != nullptr) return of_given();
  const auto words = options.words();
  Key key{.name = name,
          .options = words.value_or(std::span<const int64_t>()),
          .fixed = options.fixed()};
  Arguments arguments;
  const bool is_known = words && arguments.read(operands, key) && !is_better_recorded(key);
  if (!is_known) return in_program(name, of_given);
  const auto of_tensors = [&](std::span<const Tensor> xs) {
    return of([&](size_t i) { return Operand(xs[i], operands[i].operand->at()); });
  };
  const auto executable = program_of(key, of_tensors, arguments.device());
  if (executable == nullptr || !arguments.put_numbers(operands)) return in_program(name, of_given);
  std::vector<BufferPtr> buffers(executable->result_shapes().size());
  run(*executable, arguments.buffers(), buffers);
  std::vector<Tensor> results;
  results.reserve(buffers.size());
  for (BufferPtr& buffer : buffers) results.push_back(tensor_of(std::move(buffer)));
  return results;
}

std::vector<Tensor> in_program(
    std::string_view name, const KnownOptions& options, const std::vector<Expr>& operands,
    base::FunctionRef<std::vector<Expr>(std::span<const Expr>)> formula) {
  std::vector<Operand> given;
  for (const Expr& each : operands) given.push_back(each.operand());
  const std::vector<KnownOperand> known(given.begin(), given.end());
  return in_program(name, options, known, [&](std::span<const Operand> in) {
    std::vector<Expr> values;
    for (const Operand& each : in) values.emplace_back(each.tensor());
    std::vector<Tensor> out;
    for (const Expr& each : formula(values)) out.push_back(each.tensor());
    return out;
  });
}

}  // namespace heddle::trace_internal
