// Host memory and tensors: what is shared, what is copied, for how long, and what the counters say.
#include "heddle/trace/run/exchange.h"

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "heddle/base/support_test.h"
#include "heddle/runtime/mesh.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/support_test.h"
#include "heddle/runtime/transfer_guard.h"
#include "heddle/testing.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/run/compiled_program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

// 4 KiB that start at a multiple of 64.
class Memory {
 public:
  Memory() : bytes_(static_cast<std::byte*>(std::aligned_alloc(64, 4096)), std::free) {
    std::fill_n(bytes_.get(), 4096, std::byte{0});
  }
  template <class T>
  std::span<T> values(size_t count, size_t offset = 0) {
    return {reinterpret_cast<T*>(bytes_.get() + offset), count};
  }
  std::byte* data() { return bytes_.get(); }
  [[nodiscard]] std::shared_ptr<std::byte> owner() const { return bytes_; }

 private:
  std::shared_ptr<std::byte> bytes_;
};

std::span<float> counting(Memory& memory, size_t count, size_t offset = 0) {
  std::span<float> values = memory.values<float>(count, offset);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

StatusCode code_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& e) {
    return e.status().code();
  }
  return StatusCode::kOk;
}

// ---- lend

TEST(Exchange, LentMemoryIsUsedWhereItIs) {
  Memory memory;
  std::optional<Tensor> x;
  const Effects effects = effects_of([&] {
    x = lend(counting(memory, 6), {2, 3}, memory.owner());
  });
  EXPECT_EQ(effects, (Counters{.aliased_bytes = 24}));
  EXPECT_EQ(x->shape(), Shape(f32, {2, 3}));
  EXPECT_EQ(host_view(*x).bytes(), memory.data());
  EXPECT_THAT((*x + 1).to_vector<float>(), ElementsAre(2, 3, 4, 5, 6, 7));
}

TEST(Exchange, MisalignedMemoryIsCopiedAndCounted) {
  Memory memory;
  int released = 0;
  std::optional<Tensor> x;
  const Effects effects =
      effects_of([&] { x = lend(counting(memory, 3, 4), {3}, [&] { ++released; }); });
  EXPECT_EQ(effects, (Counters{.uploads = 1, .upload_bytes = 12}));
  EXPECT_EQ(released, 1);  // there is a copy
  memory.values<float>(3, 4)[0] = 9;
  EXPECT_THAT(x->to_vector<float>(), ElementsAre(1, 2, 3));
}

TEST(Exchange, RankZeroAndEmptyArraysCanBeLent) {
  Memory memory;
  EXPECT_EQ(effects_of([&] {
              EXPECT_EQ(lend(counting(memory, 1), {}, memory.owner()).item<float>(), 1);
            }).aliased_bytes,
            4);
  int released = 0;
  {
    const Tensor empty = lend(std::span<const double>(), {0, 3}, [&] { ++released; });
    EXPECT_EQ(empty.shape(), Shape(f64, {0, 3}));
    EXPECT_TRUE(empty.to_vector<double>().empty());
    EXPECT_EQ(host_view(empty).element_count(), 0);
  }
  EXPECT_EQ(released, 1);
}

template <class T>
void expect_lent(std::initializer_list<T> values) {
  Memory memory;
  const std::span<T> span = memory.values<T>(values.size());
  std::ranges::copy(values, span.begin());
  const auto count = static_cast<int64_t>(values.size());
  std::optional<Tensor> x;
  EXPECT_EQ(effects_of([&] { x = lend(span, {count}, memory.owner()); }),
            (Counters{.aliased_bytes = count * static_cast<int64_t>(sizeof(T))}));
  EXPECT_EQ(x->dtype(), trace_internal::dtype_of<T>());
  EXPECT_EQ(x->to_vector<T>(), std::vector<T>(values));
}

TEST(Exchange, EveryElementTypeOfCppCanBeLent) {
  expect_lent<bool>({true, false, true});
  expect_lent<int8_t>({-1, 2});
  expect_lent<int16_t>({-1, 2});
  expect_lent<int32_t>({-1, 2});
  expect_lent<int64_t>({-1, int64_t{1} << 40});
  expect_lent<uint8_t>({1, 255});
  expect_lent<uint16_t>({1, 65535});
  expect_lent<uint32_t>({1, 1u << 31});
  expect_lent<uint64_t>({1, uint64_t{1} << 63});
  expect_lent<float>({1.5f, -2});
  expect_lent<double>({1.5, -2});
  expect_lent<std::complex<float>>({{1, 2}, {3, 4}});
  expect_lent<std::complex<double>>({{1, 2}, {3, 4}});
}

TEST(Exchange, EveryDtypeCanBeLent) {
  for (DType dtype : {pred, s4, u4, s8, u32, bf16, f16, f32, f64, c64, c128, f8e4m3fn, f8e5m2}) {
    SCOPED_TRACE(to_string(dtype));
    Memory memory;
    const Shape shape(dtype, {2, 2});
    const Literal ones = Literal::from<std::byte>(
        Shape(u8, {shape.byte_size()}),
        std::vector<std::byte>(static_cast<size_t>(shape.byte_size()), std::byte{1}));
    std::copy_n(ones.bytes(), shape.byte_size(), memory.data());
    const Tensor x = lend(memory.data(), shape, memory.owner());
    EXPECT_EQ(x.shape(), shape);
    const Literal seen = x.to_literal();
    EXPECT_TRUE(std::equal(seen.bytes(), seen.bytes() + seen.byte_size(), memory.data()));
  }
}

TEST(Exchange, TheOwnerIsReleasedOnceAfterTheTensorAndItsViews) {
  Memory memory;
  int released = 0;
  std::optional<Tensor> x = lend(counting(memory, 2), {2}, [&] { ++released; });
  const Tensor copy = *x;
  std::optional<Literal> view = host_view(*x);
  std::optional<Tensor> other = copy;
  x.reset();
  EXPECT_EQ(released, 0);
  const_cast<Tensor&>(copy) = Tensor();
  other.reset();
  EXPECT_EQ(released, 0);
  EXPECT_THAT(view->values<float>(), ElementsAre(1, 2));
  view.reset();
  EXPECT_EQ(released, 1);
}

TEST(Exchange, AnOwnerThatIsAPointerIsHeld) {
  Memory memory;
  const std::shared_ptr<std::byte> owner = memory.owner();
  const auto before = owner.use_count();
  {
    const Tensor x = lend(counting(memory, 2), {2}, owner);
    EXPECT_GT(owner.use_count(), before);
  }
  EXPECT_EQ(owner.use_count(), before);
}

TEST(Exchange, MemoryThatNeverGoesNeedsNoOwner) {
  alignas(64) static const float kTable[] = {1, 2, 3, 4};
  const Tensor x = lend(std::span(kTable), {4}, nullptr);
  EXPECT_EQ(host_view(x).bytes(), reinterpret_cast<const std::byte*>(kTable));
}

TEST(Exchange, ADonatedLoanIsNotWrittenTo) {
  Memory memory;
  int released = 0;
  Tensor x = lend(counting(memory, 2), {2}, [&] { ++released; });
  const CompiledProgram twice = trace([](Tensor a) { return a * 2; }, x).compile();
  EXPECT_THAT(twice.with({.donate = {0}}).call<Tensor>(x).to_vector<float>(), ElementsAre(2, 4));
  EXPECT_THAT(memory.values<float>(2), ElementsAre(1, 2));
  EXPECT_TRUE(x.is_donated());
  EXPECT_EQ(released, 1);
}

TEST(Exchange, WhatCannotBeLentSaysWhyAndLetsGo) {
  Memory memory;
  int released = 0;
  const auto release = [&] { ++released; };
  EXPECT_THAT(error_of([&] {
                lend(counting(memory, 5), {2, 3}, release);
              }),
              AllOf(StartsWith("lend: has 5 values; f32[2,3] takes 6"), EndsWith(here())));
  EXPECT_EQ(released, 1);
  EXPECT_THAT(error_of([&] { lend(counting(memory, 5), {-5}, release); }), StartsWith("lend: "));
  EXPECT_THAT(error_of([&] { lend(nullptr, Shape(f32, {2}), release); }), HasSubstr("null"));
  EXPECT_THAT(error_of([&] {
                lend(memory.data(), Shape::tuple({Shape(f32, {2}), Shape(f32, {2})}), release);
              }),
              StartsWith("lend: the shape is (f32[2], f32[2]); it must be that of an array"));
  EXPECT_EQ(released, 4);
}

TEST(Exchange, AGuardForbidsLendingAndViewing) {
  Memory memory;
  const Tensor x = ones({2});
  const TransferGuard guard(TransferGuard::Policy::kForbid);
  const Effects effects = effects_of([&] {
    EXPECT_THAT(error_of([&] { lend(counting(memory, 2), {2}, nullptr); }),
                HasSubstr("asked for by lend"));
    EXPECT_THAT(error_of([&] { from_strided(memory.values<float>(2).data(), {2}, {4}); }),
                HasSubstr("asked for by from_strided"));
    EXPECT_THAT(error_of([&] { (void)host_view(x); }), HasSubstr("asked for by host_view"));
    EXPECT_THAT(error_of([&] { (void)start_download(x); }),
                HasSubstr("asked for by start_download"));
    EXPECT_THAT(error_of([&] { (void)to_dlpack(x); }), HasSubstr("asked for by to_dlpack"));
  });
  EXPECT_EQ(effects, Counters{});
}

// ---- from_strided

TEST(Exchange, StridedMemoryBecomesRowMajor) {
  const float m[] = {1, 2, 3, 4, 5, 6};  // 2 rows of 3
  EXPECT_THAT(from_strided(m, {3, 2}, {4, 12}).to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(from_strided(m + 5, {6}, {-4}).to_vector<float>(), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(from_strided(m, {2, 2}, {0, 8}).to_vector<float>(), ElementsAre(1, 3, 1, 3));
  EXPECT_EQ(from_strided(m + 1, {}, {}).item<float>(), 2);
  EXPECT_TRUE(from_strided(m, {0, 2}, {4, 4}).to_vector<float>().empty());
  const uint16_t bits[] = {0x3f80, 0, 0x4000};  // bf16: 1, 0, 2
  EXPECT_THAT(from_strided(bits, Shape(bf16, {2}), {4}).to_vector<float>(), ElementsAre(1, 2));
}

TEST(Exchange, StridesAreBytes) {
  const float m[] = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(error_of([&] {
                from_strided(m, {3, 2}, {2, 1});
              }),
              HasSubstr("from_strided: byte_strides are {2, 1}, which are those of f32[3,2] in "
                        "elements; they are in bytes, of 4 an element"));
  const uint8_t bytes[] = {1, 2, 3, 4};
  EXPECT_THAT(from_strided(bytes, Shape(u8, {2, 2}), {2, 1}).to_vector<uint8_t>(),
              ElementsAre(1, 2, 3, 4));
}

TEST(Exchange, StridedMemoryIsAnUpload) {
  std::vector<int32_t> m = {1, 2, 3, 4};
  std::optional<Tensor> x;
  EXPECT_EQ(effects_of([&] {
              x = from_strided(m.data(), {2, 2}, {4, 8});
            }),
            (Counters{.uploads = 1, .upload_bytes = 16}));
  m[0] = 9;
  EXPECT_THAT(x->to_vector<int>(), ElementsAre(1, 3, 2, 4));
}

TEST(Exchange, StridesOfAnotherNumberThanAxesAreRefused) {
  const float m[] = {1, 2, 3, 4};
  EXPECT_THAT(
      error_of([&] {
        from_strided(m, {2, 2}, {4});
      }),
      AllOf(HasSubstr("f32[2,2] has 1 strides; it must have one a dimension"), EndsWith(here())));
}

// ---- Views and downloads.

TEST(Exchange, AViewCopiesNothingAndOutlivesTheTensor) {
  Tensor x = array({1.0f, 2.0f});
  std::optional<Literal> view;
  EXPECT_EQ(effects_of([&] { view = host_view(x); }), (Counters{.aliased_bytes = 8}));
  EXPECT_EQ(view->bytes(), host_view(x).bytes());
  const CompiledProgram taking =
      trace([](Tensor a) { return a * 2; }, x).compile().with({.donate = {0}});
  (void)taking.call<Tensor>(x).to_vector<float>();
  EXPECT_TRUE(x.is_donated());
  EXPECT_THAT(view->values<float>(), ElementsAre(1, 2));  // the run wrote elsewhere
  EXPECT_THAT(error_of([&] { (void)host_view(x); }), HasSubstr("was donated"));
}

TEST(Exchange, AViewThatIsWrittenToIsACopy) {
  const Tensor x = array({1.0f, 2.0f});
  Literal view = host_view(x);
  view.mutable_values<float>()[0] = 9;
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 2));
}

TEST(Exchange, ADownloadIsCountedWhenItIsThereAndOutlivesTheTensor) {
  std::optional<Tensor> x = array({1.0f, 2.0f});
  HostCopy copy = start_download(*x);
  x.reset();
  std::optional<Literal> value;
  EXPECT_EQ(effects_of([&] { value = copy.await(); }),
            (Counters{.downloads = 1, .download_bytes = 8}));
  EXPECT_THAT(value->values<float>(), ElementsAre(1, 2));
  EXPECT_EQ(code_of([&] { (void)copy.await(); }), StatusCode::kFailedPrecondition);
}

TEST(Exchange, ADownloadOfAPendingTensorDoesNotWaitForIt) {
  static runtime::Backend& backend = *interpreter::make_backend({.asynchronous = true}).release();
  const runtime::DefaultDevice scope(*backend.devices()[0]);
  const Tensor x = ones({64});
  Tensor y = x;
  for (int i = 0; i < 100; ++i) y = y + x;
  std::vector<HostCopy> copies;
  for (int i = 0; i < 3; ++i) copies.push_back(start_download(y));
  y = Tensor();
  for (HostCopy& copy : copies) EXPECT_THAT(copy.await().values<float>(), testing::Each(101));
}

// ---- DLPack

TEST(Exchange, TensorsGoOutAndComeBackWithoutACopy) {
  std::optional<Tensor> x = array({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  dlpack::ManagedTensor* out = nullptr;
  EXPECT_EQ(effects_of([&] { out = to_dlpack(*x); }), (Counters{.aliased_bytes = 24}));
  EXPECT_EQ(out->tensor.data, static_cast<const void*>(host_view(*x).bytes()));
  x.reset();
  std::optional<Tensor> back;
  EXPECT_EQ(effects_of([&] { back = from_dlpack(out); }), (Counters{.aliased_bytes = 24}));
  EXPECT_THAT(back->to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

// Another library's array of floats, whose deleter counts.
struct Theirs {
  explicit Theirs(void* data, std::vector<int64_t> sizes, std::vector<int64_t> steps = {})
      : shape(std::move(sizes)), strides(std::move(steps)) {
    managed.tensor = {.data = data,
                      .device = {},
                      .rank = static_cast<int32_t>(shape.size()),
                      .dtype = {.code = dlpack::TypeCode::kFloat, .bits = 32, .lanes = 1},
                      .shape = shape.data(),
                      .strides = strides.empty() ? nullptr : strides.data(),
                      .byte_offset = 0};
    managed.context = this;
    managed.deleter = [](dlpack::ManagedTensor* self) {
      ++static_cast<Theirs*>(self->context)->deleted;
    };
  }
  std::vector<int64_t> shape, strides;
  dlpack::ManagedTensor managed;
  int deleted = 0;
};

TEST(Exchange, ADeleterIsCalledOnceWhenTheTensorIsGone) {
  Memory memory;
  Theirs theirs(counting(memory, 4).data(), {2, 2});
  {
    const Tensor x = from_dlpack(&theirs.managed);
    EXPECT_EQ(host_view(x).bytes(), memory.data());
    EXPECT_EQ(theirs.deleted, 0);
  }
  EXPECT_EQ(theirs.deleted, 1);
}

TEST(Exchange, ArraysOfOtherLayoutsAreCopied) {
  Memory memory;
  Theirs theirs(counting(memory, 6).data(), {3, 2}, {1, 3});
  std::optional<Tensor> x;
  EXPECT_EQ(effects_of([&] { x = from_dlpack(&theirs.managed); }),
            (Counters{.uploads = 1, .upload_bytes = 24}));
  EXPECT_EQ(theirs.deleted, 1);
  EXPECT_THAT(x->to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Exchange, AnArrayThatIsRefusedStaysTheirs) {
  Memory memory;
  Theirs theirs(memory.data(), {2});
  theirs.managed.tensor.dtype.lanes = 4;
  EXPECT_THAT(error_of([&] { from_dlpack(&theirs.managed); }), StartsWith("from_dlpack: elements"));
  EXPECT_EQ(theirs.deleted, 0);
  EXPECT_EQ(code_of([] { from_dlpack(nullptr); }), StatusCode::kInvalidArgument);
}

TEST(Exchange, EveryDtypeOfDlpackComesBack) {
  for (DType dtype : {pred, s8, s16, s32, s64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128}) {
    SCOPED_TRACE(to_string(dtype));
    const Tensor x = ones({3}, dtype);
    const Tensor back = from_dlpack(to_dlpack(x));
    EXPECT_EQ(back.to_literal(), x.to_literal());
  }
  EXPECT_EQ(code_of([] { (void)to_dlpack(ones({3}, f8e4m3fn)); }), StatusCode::kUnimplemented);
}

// ---- Traced values and placeholders.

TEST(Exchange, InsideATraceThereIsNoMemory) {
  Memory memory;
  const auto in_trace = [](const std::function<void(Tensor)>& body) {
    return error_of([&] { trace([&](Tensor a) { return body(a), a; }, placeholder({2}, f32)); });
  };
  const std::string repair =
      "; call it before the trace and capture the tensor, or make a constant";
  EXPECT_THAT(in_trace([&](Tensor) { lend(memory.values<float>(2), {2}, nullptr); }),
              AllOf(StartsWith("lend: called inside a trace"), HasSubstr(repair)));
  EXPECT_THAT(in_trace([&](Tensor) { from_strided(memory.values<float>(2).data(), {2}, {4}); }),
              AllOf(StartsWith("from_strided: called inside a trace"), HasSubstr(repair)));
  Theirs theirs(memory.data(), {2});
  EXPECT_THAT(in_trace([&](Tensor) { from_dlpack(&theirs.managed); }),
              AllOf(StartsWith("from_dlpack: called inside a trace"), HasSubstr(repair)));
  EXPECT_EQ(theirs.deleted, 0);
  EXPECT_THAT(in_trace([](Tensor a) { (void)host_view(a); }),
              StartsWith("host_view: operand is a traced f32[2], which has no value yet"));
  EXPECT_THAT(in_trace([](Tensor a) { (void)start_download(a); }),
              StartsWith("start_download: operand is a traced f32[2]"));
  EXPECT_THAT(in_trace([](Tensor a) { (void)to_dlpack(a); }),
              StartsWith("to_dlpack: operand is a traced f32[2]"));
  EXPECT_THAT(in_trace([](Tensor a) { (void)device_buffer(a); }),
              StartsWith("device_buffer: operand is a traced f32[2]"));
}

TEST(Exchange, PlaceholdersHaveNoMemory) {
  const Tensor hole = placeholder({2}, f32);
  EXPECT_THAT(error_of([&] { (void)host_view(hole); }),
              AllOf(StartsWith("host_view: operand is placeholder #"), EndsWith(here())));
  EXPECT_THAT(error_of([&] { (void)to_dlpack(Tensor()); }),
              StartsWith("to_dlpack: operand has no value"));
}

// ---- Buffers

TEST(Exchange, BuffersAndTensorsAreTheSameArray) {
  const Tensor x = array({1.0f, 2.0f});
  const Effects effects = effects_of([&] {
    const Tensor same = from_buffer(device_buffer(x));
    EXPECT_EQ(device_buffer(same), device_buffer(x));
  });
  EXPECT_EQ(effects, Counters{});
  EXPECT_THAT(error_of([] { (void)from_buffer(nullptr); }),
              StartsWith("from_buffer: there is no buffer"));
}

TEST(Exchange, LentMemoryReachesEveryDeviceOfAMesh) {
  Memory memory;
  int released = 0;
  {
    const runtime::DefaultDevice scope(*runtime::mesh_device(runtime::four_devices()).value());
    const Effects effects = effects_of([&] {
      const Tensor x = lend(counting(memory, 2), {2}, [&] { ++released; });
      EXPECT_THAT(host_view(x).values<float>(), ElementsAre(1, 2));
    });
    EXPECT_EQ(effects.uploads, 0);
  }
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace heddle
