#include "heddle/cpu/rewrites/products/ordered_products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

namespace heddle::cpu {
namespace {

// How many copies the product of two arrays has then. It has the same values as before.
int64_t copies(const std::vector<int64_t>& lhs, const std::vector<int64_t>& rhs,
               const std::string& root, DType dtype = f32) {
  const Shape types[] = {Shape(dtype, lhs), Shape(dtype, rhs)};
  const hlo::Module module =
      hlo::parse_text(base::cat("HloModule m\nENTRY main {\nx = ", hlo::print_shape(types[0]),
                                " parameter(0)\ny = ", hlo::print_shape(types[1]),
                                " parameter(1)\n", root, "}\n"))
          .value();
  const hlo::Module ordered = order_products(module).value();
  std::vector<Literal> arguments;
  for (const Shape& type : types) {
    std::vector<float> values(static_cast<size_t>(type.element_count()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) - 5;
    if (dtype == bf16) {
      std::vector<uint16_t> bits;  // the upper half of those of an f32
      for (float value : values)
        bits.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
      arguments.push_back(Literal::from<uint16_t>(type, bits));
      continue;
    }
    arguments.push_back(Literal::from<float>(type, values));
  }
  EXPECT_EQ(interpreter::evaluate(ordered, arguments).value(),
            interpreter::evaluate(module, arguments).value())
      << root;
  return std::ranges::count(ordered.entry_computation().instructions, hlo::Opcode::kCopy,
                            &hlo::Instruction::opcode);
}

TEST(OrderedProducts, TheSmallerOperandOfACrossedContractionIsCopied) {
  const std::string dims = "lhs_contracting_dims={1,2}, rhs_contracting_dims={1,0}\n";
  EXPECT_EQ(copies({40, 4, 5}, {5, 4, 30}, "ROOT r = f32[40,30] dot(x, y), " + dims), 1);
  EXPECT_EQ(copies({20, 4, 5}, {5, 4, 30}, "ROOT r = f32[20,30] dot(x, y), " + dims), 1);
  // Few rows, and many summands of one product.
  EXPECT_EQ(copies({15, 4, 5}, {5, 4, 30}, "ROOT r = f32[15,30] dot(x, y), " + dims), 0);
  EXPECT_EQ(copies({16, 2, 256}, {256, 2, 16}, "ROOT r = f32[16,16] dot(x, y), " + dims), 0);
  // One that has a single place, and one order of both.
  EXPECT_EQ(copies({40, 1, 20}, {20, 1, 30}, "ROOT r = f32[40,30] dot(x, y), " + dims), 0);
  EXPECT_EQ(copies({40, 4, 5}, {4, 5, 30},
                   "ROOT r = f32[40,30] dot(x, y), lhs_contracting_dims={1,2}, "
                   "rhs_contracting_dims={0,1}\n"),
            0);
}

TEST(OrderedProducts, ContractedDimensionsThatAreNoNeighboursAreCopiedTogether) {
  EXPECT_EQ(copies({4, 20, 5}, {4, 30, 5},
                   "ROOT r = f32[20,30] dot(x, y), lhs_contracting_dims={0,2}, "
                   "rhs_contracting_dims={0,2}\n"),
            2);
  // Between them stands one place.
  EXPECT_EQ(copies({4, 1, 5, 20}, {4, 5, 30},
                   "ROOT r = f32[1,20,30] dot(x, y), lhs_contracting_dims={0,2}, "
                   "rhs_contracting_dims={0,1}\n"),
            0);
}

TEST(OrderedProducts, ABatchThatLiesLastComesFirst) {
  const std::string dims =
      "lhs_batch_dims={2}, lhs_contracting_dims={1}, rhs_batch_dims={2}, "
      "rhs_contracting_dims={1}\n";
  EXPECT_EQ(copies({33, 32, 3}, {34, 32, 3}, "ROOT r = f32[3,33,34] dot(x, y), " + dims), 2);
  EXPECT_EQ(copies({33, 32, 3}, {34, 32, 3},
                   "p = f32[3,33,34] dot(x, y), " + dims +
                       "ROOT r = f32[33,34,3] transpose(p), dimensions={1,2,0}\n"),
            3);
  EXPECT_EQ(copies({33, 32, 1}, {34, 32, 1}, "ROOT r = f32[1,33,34] dot(x, y), " + dims), 0);
  EXPECT_EQ(copies({31, 32, 3}, {34, 32, 3}, "ROOT r = f32[3,31,34] dot(x, y), " + dims), 0);
}

TEST(OrderedProducts, AFewRowsBehindTheContractedDimensionComeBeforeIt) {
  EXPECT_EQ(copies({20, 32, 3}, {32, 40},
                   "p = f32[20,3,40] dot(x, y), lhs_contracting_dims={1}, "
                   "rhs_contracting_dims={0}\n"
                   "ROOT r = f32[20,40,3] transpose(p), dimensions={0,2,1}\n"),
            2);
  EXPECT_EQ(copies({2, 32, 16}, {32, 40},
                   "ROOT r = f32[2,16,40] dot(x, y), lhs_contracting_dims={1}, "
                   "rhs_contracting_dims={0}\n"),
            0);
}

TEST(OrderedProducts, AFewShortRowsOfSmallFloatsAreTransposed) {
  const auto product = [](const char* type) {
    return base::cat("ROOT r = ", type,
                     " dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n");
  };
  EXPECT_EQ(copies({64, 12}, {10, 12}, product("f32[64,10]"), bf16), 1);
  EXPECT_EQ(copies({64, 31}, {10, 31}, product("f32[64,10]"), bf16), 1);
  // So are the many of a product whose result lies the other way.
  EXPECT_EQ(copies({10, 12}, {64, 12}, product("f32[10,64]"), bf16), 2);
  EXPECT_EQ(copies({64, 12}, {12, 10},
                   "t = bf16[10,12] transpose(y), dimensions={1,0}\n"
                   "ROOT r = f32[64,10] dot(x, t), lhs_contracting_dims={1}, "
                   "rhs_contracting_dims={1}\n",
                   bf16),
            0);  // it lies well
  EXPECT_EQ(copies({64, 12}, {10, 12},
                   "t = bf16[12,10] transpose(y), dimensions={1,0}\n"
                   "ROOT r = f32[64,10] dot(x, t), lhs_contracting_dims={1}, "
                   "rhs_contracting_dims={0}\n",
                   bf16),
            1);
  EXPECT_EQ(copies({64, 32}, {10, 32}, product("f32[64,10]"), bf16), 0);
  EXPECT_EQ(copies({64, 12}, {16, 12}, product("f32[64,16]"), bf16), 0);
  EXPECT_EQ(copies({63, 12}, {10, 12}, product("f32[63,10]"), bf16), 0);
  EXPECT_EQ(copies({64, 12}, {10, 12}, product("f32[64,10]")), 0);
  EXPECT_EQ(copies({64, 12}, {64, 12},
                   "ROOT r = f32[64] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                   "lhs_contracting_dims={1}, rhs_contracting_dims={1}\n",
                   bf16),
            0);
}

TEST(OrderedProducts, ATransposeThatBreaksARowIsApart) {
  const auto product = [](const char* dims, const char* type) {
    return base::cat(
        "p = f32[4,16,8,9] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
        "ROOT r = ",
        type, " transpose(p), dimensions=", dims, "\n");
  };
  const std::vector<int64_t> x = {32, 4, 16}, y = {32, 8, 9};
  EXPECT_EQ(copies(x, y, product("{0,2,1,3}", "f32[4,8,16,9]")), 1);
  EXPECT_EQ(copies(x, y, product("{0,1,3,2}", "f32[4,16,9,8]")), 1);
  EXPECT_EQ(copies({2, 4, 16}, {2, 8, 9}, product("{0,2,1,3}", "f32[4,8,16,9]")), 1);
  EXPECT_EQ(copies(x, y, product("{0,1,2,3}", "f32[4,16,8,9]")), 0);
  EXPECT_EQ(copies(x, y, product("{2,3,0,1}", "f32[8,9,4,16]")), 0);
}

// Neither operand has its lanes side by side, and no kernel of floats turns one.
TEST(OrderedProducts, OfIntegersThatLieAcross) {
  const std::string across = "lhs_contracting_dims={0}, rhs_contracting_dims={1}\n";
  EXPECT_EQ(copies({48, 16}, {32, 48}, "ROOT r = s32[16,32] dot(x, y), " + across, s32), 1);
  EXPECT_EQ(copies({48, 16}, {32, 48}, "ROOT r = f32[16,32] dot(x, y), " + across), 0);
  EXPECT_EQ(copies({16, 48}, {32, 48},
                   "ROOT r = s32[16,32] dot(x, y), lhs_contracting_dims={1}, "
                   "rhs_contracting_dims={1}\n",
                   s32),
            0);
}

}  // namespace
}  // namespace heddle::cpu
