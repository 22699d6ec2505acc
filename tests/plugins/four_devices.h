// Four devices of real XLA's CPU plugin.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/pjrt/plugin.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle {

// They live as long as the process, as meshes do. None where there is no plugin.
inline std::vector<runtime::Device*> make_four_xla_devices(
    const std::vector<runtime::BackendOption>& options) {
  std::vector<runtime::Device*> out;
  if (xla_cpu_library().empty()) return out;
  auto& backend =
      *pjrt::make_backend("xla-cpu", {.library = xla_cpu_library(),
                                      .create_options = {{"cpu_device_count", int64_t{4}}},
                                      .compile_options = options})
           .value()
           .release();
  for (const auto& device : backend.devices()) out.push_back(device.get());
  return out;
}

// As they are used when nobody says otherwise.
inline const std::vector<runtime::Device*>& four_xla_devices() {
  static const auto& devices = *new std::vector<runtime::Device*>(make_four_xla_devices({}));
  return devices;
}

// Programs of all four are split by one of XLA's partitioners.
inline const std::vector<runtime::Device*>& four_devices_of(std::string_view partitioner) {
  static const auto& gspmd = *new std::vector<runtime::Device*>(
      make_four_xla_devices({{"use_shardy_partitioner", "false"}}));
  static const auto& shardy = *new std::vector<runtime::Device*>(
      make_four_xla_devices({{"use_shardy_partitioner", "true"}}));
  return partitioner == "Shardy" ? shardy : gspmd;
}

// Tests of four devices, by each of the partitioners.
class OnFourXlaDevices : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (four().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  }
  static const std::vector<runtime::Device*>& four() { return four_devices_of(GetParam()); }
};
#define HEDDLE_BY_EACH_PARTITIONER(suite)                                   \
  INSTANTIATE_TEST_SUITE_P(By, suite, ::testing::Values("Gspmd", "Shardy"), \
                           [](const auto& info) { return std::string(info.param); })

}  // namespace heddle
