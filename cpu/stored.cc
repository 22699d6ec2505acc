#include "heddle/cpu/stored.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "heddle/base/bytes.h"
#include "heddle/base/text/strings.h"
#include "heddle/codegen/jit/build_digest.h"
#include "heddle/cpu/kernels/isa.h"
#include "heddle/cpu/kernels/products/matmul_narrow.h"
#include "heddle/cpu/lower/lower.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/cache/identity.h"

namespace heddle::cpu {
namespace {

using base::append_number;
using base::append_text;

// LLVM's library as it is now: its version may be put in its place without a build of Heddle.
std::string llvm_library() {
  struct stat status {};
  if (kLlvmLibrary[0] == '\0' || stat(kLlvmLibrary, &status) != 0) return "none";
  return base::cat(status.st_size, " bytes, of ", status.st_mtim.tv_sec, ".",
                   status.st_mtim.tv_nsec);
}

// ---- Writing

void append_signed(int64_t number, std::string& to) {
  append_number(static_cast<uint64_t>(number), to);
}

void append_cost(const std::optional<double>& cost, std::string& to) {
  append_number(cost.has_value(), to);
  append_number(std::bit_cast<uint64_t>(cost.value_or(0)), to);
}

// Whole pages, without the zeros that fill the last one.
void append_pages(std::string_view pages, std::string& to) {
  for (int64_t n = 1; n < CodeImage::kPage && pages.ends_with('\0'); ++n) pages.remove_suffix(1);
  append_text(pages, to);
}

void append_image(const CodeImage& image, std::string& to) {
  const auto executed = static_cast<size_t>(image.executed_bytes);
  append_pages(std::string_view(image.bytes).substr(0, executed), to);
  append_pages(std::string_view(image.bytes).substr(executed), to);
  append_signed(image.entry, to);
  append_number(image.imports.size(), to);
  for (const std::string& name : image.imports) append_text(name, to);
  append_number(image.slots.size(), to);
  for (const CodeImage::Slot& slot : image.slots) {
    append_signed(slot.at, to);
    append_signed(slot.import, to);
  }
}

void append_literal(const Literal& literal, std::string& to) {
  append_number(static_cast<uint64_t>(literal.shape().dtype()), to);
  append_number(literal.shape().dimensions().size(), to);
  for (const int64_t size : literal.shape().dimensions()) append_signed(size, to);
  append_text(
      {reinterpret_cast<const char*>(literal.bytes()), static_cast<size_t>(literal.byte_size())},
      to);
}

// The numbers of a product, to be written or read.
template <class Product, class Visit>
void for_each_number(Product& p, const Visit& visit) {
  visit(p.m), visit(p.n), visit(p.k);
  visit(p.a_row), visit(p.a_column);
  visit(p.b_row), visit(p.b_column);
  visit(p.c_row), visit(p.c_column);
}

void append_product(const MatrixProduct& product, std::string& to) {
  append_number(static_cast<uint64_t>(product.dtype), to);
  for_each_number(product, [&](int64_t number) { append_signed(number, to); });
  const auto append_axes = [&](const std::vector<MatrixProduct::Axis>& axes) {
    append_number(axes.size(), to);
    for (const auto& [size, a, b, c] : axes) {
      append_signed(size, to);
      append_signed(a, to);
      append_signed(b, to);
      append_signed(c, to);
    }
  };
  append_axes(product.outer);
  append_axes(product.summed);
}

// ---- Reading

// What is not there, or cannot be, reads as nothing and is remembered.
class StoredReader {
 public:
  explicit StoredReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool is_good() const { return is_good_; }
  [[nodiscard]] bool is_at_end() const { return is_good_ && rest_.empty(); }
  void fail() { is_good_ = false; }

  uint64_t number() {
    uint64_t number = 0;
    if (!is_good_ || !base::read_number(rest_, number)) is_good_ = false;
    return is_good_ ? number : 0;
  }
  int64_t signed_number() { return static_cast<int64_t>(number()); }
  std::string_view text() {
    std::string_view text;
    if (!is_good_ || !base::read_text(rest_, text)) is_good_ = false;
    return is_good_ ? text : std::string_view();
  }
  // How many things follow, of at least so many bytes each.
  size_t count(size_t bytes_each) {
    const uint64_t count = number();
    if (count > rest_.size() / bytes_each) is_good_ = false;
    return is_good_ ? static_cast<size_t>(count) : 0;
  }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

std::optional<double> read_cost(StoredReader& from) {
  const bool is_known = from.number() != 0;
  const auto cost = std::bit_cast<double>(from.number());
  return is_known ? std::optional(cost) : std::nullopt;
}

void read_pages(StoredReader& from, std::string& to) {
  constexpr size_t kPage = CodeImage::kPage;
  to += from.text();
  to.resize((to.size() + kPage - 1) / kPage * kPage);
}

CodeImage read_image(StoredReader& from) {
  CodeImage image;
  read_pages(from, image.bytes);
  image.executed_bytes = static_cast<int64_t>(image.bytes.size());
  read_pages(from, image.bytes);
  image.entry = from.signed_number();
  for (size_t n = from.count(8); n > 0; --n) image.imports.emplace_back(from.text());
  for (size_t n = from.count(16); n > 0; --n) {
    const int64_t at = from.signed_number();
    image.slots.push_back({at, from.signed_number()});
  }
  return image;
}

DType read_dtype(StoredReader& from) {
  const uint64_t number = from.number();
  if (number < 256 && is_array_element(static_cast<DType>(number)))
    return static_cast<DType>(number);
  from.fail();
  return DType::kU8;
}

Literal read_literal(StoredReader& from) {
  const DType dtype = read_dtype(from);
  std::vector<int64_t> sizes;
  for (size_t n = from.count(8); n > 0; --n) sizes.push_back(from.signed_number());
  const std::string_view bytes = from.text();
  // Counted with care: a product may be more than a number holds.
  auto left = static_cast<int64_t>(bytes.size()) / storage_bytes(dtype);
  const bool has_elements = left > 0;
  for (const int64_t size : sizes) {
    if (size < 0 || (has_elements && (size == 0 || size > left))) from.fail();
  }
  if (sizes.size() > static_cast<size_t>(Shape::kMaxRank)) from.fail();
  if (!from.is_good()) return {};
  if (has_elements) {
    int64_t elements = 1;
    for (const int64_t size : sizes) {
      if (__builtin_mul_overflow(elements, size, &elements)) from.fail();
    }
    if (elements != left) from.fail();
  } else if (std::ranges::find(sizes, 0) == sizes.end()) {
    from.fail();
  }
  if (!from.is_good()) return {};
  Literal literal = Literal::uninitialised(Shape(dtype, std::move(sizes)));
  if (literal.byte_size() != static_cast<int64_t>(bytes.size())) {
    from.fail();
  } else if (!bytes.empty()) {
    std::memcpy(literal.mutable_bytes(), bytes.data(), bytes.size());
  }
  return literal;
}

// Its multiplications can be counted.
bool has_sizes(const MatrixProduct& product) {
  int64_t count = 1;
  const auto take = [&](int64_t size) {
    return size >= 0 && !__builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count);
  };
  const auto take_all = [&](const std::vector<MatrixProduct::Axis>& axes) {
    return std::ranges::all_of(axes, take, &MatrixProduct::Axis::size);
  };
  return take(product.m) && take(product.n) && take(product.k) && take_all(product.outer) &&
         take_all(product.summed);
}

MatrixProduct read_product(StoredReader& from) {
  MatrixProduct product;
  product.dtype = read_dtype(from);
  for_each_number(product, [&](int64_t& number) { number = from.signed_number(); });
  const auto read_axes = [&](std::vector<MatrixProduct::Axis>& axes) {
    for (size_t n = from.count(32); n > 0; --n) {
      auto& [size, a, b, c] = axes.emplace_back();
      size = from.signed_number();
      a = from.signed_number();
      b = from.signed_number();
      c = from.signed_number();
    }
  };
  read_axes(product.outer);
  read_axes(product.summed);
  const bool has_kernel = product.dtype == f32 || product.dtype == f64 ||
                          narrow_unit(product.dtype) != NarrowUnit::kNone;
  if (!has_sizes(product) || !has_kernel) from.fail();
  return product;
}

StatusOr<KernelRecipe> read_recipe(StoredReader& from) {
  KernelRecipe recipe;
  if (from.number() != 0) {
    recipe.product = read_product(from);
    return recipe;
  }
  HEDDLE_ASSIGN_OR_RETURN(recipe.instruction, hlo::parse_text(from.text()));
  return recipe;
}

Status no_program() { return base::invalid_argument("cpu: the bytes are no stored program"); }

}  // namespace

std::string stored_key(const hlo::Module& module) {
  // What vectors the system lets it use is not the processor's to say.
  static const std::string here =
      base::cat("heddle cpu 1\n", kBuildDigest, "\nLLVM ", llvm_library(), "\nvectors of ",
                host_vector_bytes(), "\n", runtime::processor_identity(), "\n");
  return here + runtime::module_identity(module);
}

std::string encode(const NativeParts& parts, const CodeImage& image,
                   const std::vector<KernelRecipe>& recipes) {
  std::string bytes;
  append_image(image, bytes);
  append_signed(parts.arena_bytes, bytes);
  append_cost(parts.cost.flops, bytes);
  append_cost(parts.cost.bytes, bytes);
  append_number(parts.taken.size(), bytes);
  for (const auto& [argument, result] : parts.taken) {
    append_signed(argument, bytes);
    append_signed(result, bytes);
  }
  append_number(parts.constants.size(), bytes);
  for (const Literal& literal : parts.constants) append_literal(literal, bytes);
  append_number(recipes.size(), bytes);
  for (size_t i = 0; i < recipes.size(); ++i) {
    append_number(parts.kernel_buffers[i], bytes);
    append_number(recipes[i].product.has_value(), bytes);
    if (recipes[i].product.has_value()) {
      append_product(*recipes[i].product, bytes);
    } else {
      append_text(hlo::print(recipes[i].instruction), bytes);
    }
  }
  return bytes;
}

StatusOr<NativeParts> decode(std::string_view bytes) {
  StoredReader from(bytes);
  NativeParts parts;
  const CodeImage image = read_image(from);
  parts.arena_bytes = from.signed_number();
  parts.cost.flops = read_cost(from);
  parts.cost.bytes = read_cost(from);
  for (size_t n = from.count(16); n > 0; --n) {
    const int64_t argument = from.signed_number();
    parts.taken.emplace_back(argument, from.signed_number());
  }
  for (size_t n = from.count(24); n > 0; --n) parts.constants.push_back(read_literal(from));
  for (size_t n = from.count(24); n > 0 && from.is_good(); --n) {
    parts.kernel_buffers.push_back(static_cast<size_t>(from.number()));
    HEDDLE_ASSIGN_OR_RETURN(const KernelRecipe recipe, read_recipe(from));
    if (!from.is_good()) return no_program();
    HEDDLE_ASSIGN_OR_RETURN(auto kernel, make_kernel(recipe));
    parts.kernels.push_back(std::move(kernel));
  }
  if (!from.is_at_end() || parts.arena_bytes < 0) return no_program();
  HEDDLE_ASSIGN_OR_RETURN(parts.code, load_code(image, imports_of(call_kernel, share_loop)));
  parts.is_from_disk = true;
  return parts;
}

StoredProgram::StoredProgram(const hlo::Module& module, std::shared_ptr<runtime::DiskCache> cache)
    : cache_(std::move(cache)) {
  if (cache_ == nullptr) return;
  about_ = base::cat("cpu ", module.name, ", ", module.instruction_count(), " instructions");
  key_ = stored_key(module);
}

std::optional<NativeParts> StoredProgram::find() {
  std::optional<NativeParts> found;
  if (cache_ == nullptr) return found;
  cache_->find(key_, [&](std::string_view payload) {
    StatusOr<NativeParts> parts = decode(payload);
    if (parts.ok()) found = *std::move(parts);
    return found.has_value();
  });
  return found;
}

void StoredProgram::store(const NativeParts& parts, const std::optional<CodeImage>& image,
                          const std::vector<KernelRecipe>& recipes) {
  if (cache_ != nullptr && image.has_value())
    cache_->store(key_, about_, encode(parts, *image, recipes));
}

}  // namespace heddle::cpu
