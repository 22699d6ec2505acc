// For the tests of the wire form.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/wire.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo {

inline proto::HloModuleProto message_of_module(const Module& module) {
  proto::HloModuleProto message;
  EXPECT_TRUE(message.ParseFromString(to_proto(module)));
  return message;
}

// main(x: f32[2], y: f32[2]) = x + y
inline Module sum() {
  Module module;
  module.name = "sum";
  ComputationBuilder builder(module, "main");
  auto x = builder.parameter(Shape(f32, {2}), "x");
  auto y = builder.parameter(Shape(f32, {2}), "y");
  auto z = *builder.add(Opcode::kAdd, {x, y});
  builder.mutable_at(z).name = "z";
  module.entry = module.add(std::move(builder).finish(z));
  return module;
}

inline Module read(const proto::HloModuleProto& message) {
  StatusOr<Module> module = from_proto(message.SerializeAsString());
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : Module();
}

}  // namespace heddle::hlo
