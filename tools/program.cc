#include "heddle/tools/program.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "heddle/hlo/text.h"
#include "heddle/hlo/wire.h"
#include "heddle/tools/proto/hlo_case.pb.h"

namespace heddle::tools {
namespace {

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

// Text has no control characters. A proto has some in its first bytes: field tags and small
// lengths.
bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes.substr(0, 4096), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r';
  });
}

// The first field of bytes that is a module itself, HloProto or HloSnapshot.
StatusOr<hlo::Module> read_proto(const std::string& bytes) {
  StatusOr<hlo::Module> module = hlo::from_proto(bytes);
  if (module.ok()) return module;
  proto::CaseProgram program;
  proto::CaseSnapshot snapshot;
  if (snapshot.ParseFromString(bytes) && !snapshot.hlo().hlo_module().empty()) {
    if (StatusOr<hlo::Module> inner = hlo::from_proto(snapshot.hlo().hlo_module()); inner.ok())
      return inner;
  }
  if (program.ParseFromString(bytes) && !program.hlo_module().empty()) {
    if (StatusOr<hlo::Module> inner = hlo::from_proto(program.hlo_module()); inner.ok())
      return inner;
  }
  return module;
}

StatusOr<Program> read_case_of(const std::string& path, const std::string& name) {
  HEDDLE_ASSIGN_OR_RETURN(std::vector<conformance::Case> cases, conformance::read_pack(path));
  auto found = std::ranges::find(cases, name, &conformance::Case::name);
  if (name.empty() && cases.size() == 1) found = cases.begin();
  if (found == cases.end()) {
    return base::not_found(path, ": has ", cases.size(), " cases",
                           name.empty() ? "" : base::cat(", none of them ", name),
                           "; name one, as in ", path, "#",
                           cases.empty() ? "name" : cases.front().name);
  }
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module module, hlo::from_proto(found->module));
  return Program{std::move(module), *std::move(found)};
}

}  // namespace

StatusOr<std::string> read_file(const std::string& path) {
  if (std::filesystem::is_directory(path))
    return base::invalid_argument(path, ": is a folder; name a file in it");
  std::ifstream in(path, std::ios::binary);
  if (!in) return base::not_found(path, ": cannot be read: ", std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Status write_file(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  return out ? Status()
             : base::make_error(StatusCode::kUnavailable, path,
                                ": cannot be written: ", std::strerror(errno));
}

StatusOr<Program> load_program(const std::string& path) {
  const size_t hash = path.rfind(".gz#");
  const std::string file = hash == path.npos ? path : path.substr(0, hash + 3);
  HEDDLE_ASSIGN_OR_RETURN(std::string bytes, read_file(file));
  if (is_gzip(bytes)) return read_case_of(file, hash == path.npos ? "" : path.substr(hash + 4));
  StatusOr<hlo::Module> module = is_text(bytes) ? hlo::parse_text(bytes) : read_proto(bytes);
  if (!module.ok()) return base::annotate(module.status(), path, ": ");
  return Program{*std::move(module), std::nullopt};
}

}  // namespace heddle::tools
