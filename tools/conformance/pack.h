// Packs of conformance cases: a gzip stream of length-delimited Case messages
// (tools/proto/hlo_case.proto).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/tools/conformance/compare.h"

namespace heddle::conformance {

// The arguments and results of one of several devices.
struct Replica {
  std::vector<Literal> arguments;
  Literal expected;
};

// A program with arguments and the result that it must give.
struct Case {
  std::string name;      // category/test-hash, unique
  std::string corpus;    // jaxtests, stablehlo, apps, spmd
  std::string category;  // the name of the pack
  std::string origin;
  std::string module;    // a serialised HloModuleProto
  std::string hlo_text;  // the same module as XLA prints it, constants in full
  std::string stablehlo_text;
  std::vector<Literal> arguments;
  Literal expected;
  std::string expected_from;                // xla-cpu or stablehlo-interpreter
  std::optional<Literal> xla_cpu_expected;  // if XLA's CPU does not give `expected`
  std::vector<Tolerance> tolerances;        // one a leaf of the result, or one for all
  std::vector<std::string> flags;
  std::vector<Replica> replicas;  // empty: one device, `arguments` and `expected`

  [[nodiscard]] bool has_flag(std::string_view flag) const;
};

// A serialised Case. errors: InvalidArgument that names the case and the part
StatusOr<Case> read_case(std::string_view bytes);

// Reads a pack case by case.
class PackReader {
 public:
  // errors: NotFound; InvalidArgument for a file that is no gzip
  static StatusOr<PackReader> open(const std::string& path);
  PackReader(PackReader&&) noexcept;
  PackReader& operator=(PackReader&&) noexcept;
  ~PackReader();

  // The next case, or none at the end.
  // errors: InvalidArgument for a damaged or truncated stream, with the path and the number of the
  // record
  StatusOr<std::optional<Case>> next();

 private:
  struct Stream;
  explicit PackReader(std::unique_ptr<Stream> stream);
  std::unique_ptr<Stream> stream_;
};

// All cases of a pack.
StatusOr<std::vector<Case>> read_pack(const std::string& path);

// The packs at the paths: a file itself, for a folder every *.cases.gz in it, sorted. errors:
// NotFound
StatusOr<std::vector<std::string>> find_packs(const std::vector<std::string>& paths);

}  // namespace heddle::conformance
