#include "heddle/pjrt/serialized.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "heddle/base/bytes.h"
#include "heddle/base/hash.h"
#include "heddle/base/text/strings.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/internal/backend.h"

namespace heddle::pjrt {
namespace {

// Mark, checksum of the rest, then texts.
constexpr std::string_view kMark = "heddle program 2\n";

struct Header {
  std::string version;   // of the interface: "0.81"
  std::string platform;  // the plugin's words
  std::string build;     // of the library
  std::string device;    // the plugin's number, or "any"
  std::string program;   // module and options, by hash
};

struct Part {
  std::string_view name;
  std::string Header::*text;
};
constexpr Part kParts[] = {
    {"PJRT version", &Header::version},      {"platform", &Header::platform},
    {"build of the plugin", &Header::build}, {"device", &Header::device},
    {"program", &Header::program},
};

base::Hash128 hash_of_text(std::string_view text) {
  base::Hasher hasher;
  hasher.add_bytes(text.data(), text.size());
  return hasher.digest();
}

Header header_of(const PjrtBackend& backend, const runtime::Device& device, bool portable,
                 const base::Hash128& program) {
  const Client& client = *backend.client();
  return {
      .version = base::cat(client.api()->major(), ".", client.api()->minor()),
      .platform = client.platform_version(),
      .build = backend.build(),
      .device = portable ? "any" : base::cat(client.devices()[static_cast<size_t>(device.id())].id),
      .program = to_string(program)};
}

Status damaged(std::string_view how) {
  return base::invalid_argument("load program: the bytes are ", how,
                                "; compile the program, and serialise it anew");
}

// Returns what stands behind the header, which must be `here`.
StatusOr<std::string_view> payload_for(std::string_view bytes, const Header& here,
                                       std::string_view name) {
  if (!bytes.starts_with(kMark)) return damaged("no serialised program of this Heddle");
  bytes.remove_prefix(kMark.size());
  base::Hash128 sum;
  if (!base::read_number(bytes, sum.low) || !base::read_number(bytes, sum.high))
    return damaged("cut off");
  if (hash_of_text(bytes) != sum) return damaged("damaged or cut off");
  for (const Part& part : kParts) {
    std::string_view text;
    if (!base::read_text(bytes, text)) return damaged("damaged");
    if (text == here.*part.text) continue;
    return base::failed_precondition("load program ", name, ": its ", part.name, " is ", text,
                                     "; here it is ", here.*part.text,
                                     "; compile the program, and serialise it anew");
  }
  std::string_view payload;
  if (!base::read_text(bytes, payload) || !bytes.empty()) return damaged("damaged");
  return payload;
}

Status check_build(const PjrtBackend& backend, std::string_view what) {
  if (!backend.build().empty()) return {};
  return base::failed_precondition(
      what, ": the library of ", backend.name(),
      " could not be read when it was loaded, so nothing tells its programs "
      "from those of another build");
}

}  // namespace

// The size, and pages at even distances. Another build differs in most of them.
std::string build_of(const std::string& library) {
  constexpr off_t kPages = 64;
  std::array<char, 4096> page{};
  base::Hasher hasher;
  const int file = open(library.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  const off_t size = lseek(file, 0, SEEK_END);
  for (off_t i = 0; i < kPages; ++i) {
    const ssize_t got = pread(file, page.data(), page.size(), size / kPages * i);
    if (got > 0) hasher.add_bytes(page.data(), static_cast<size_t>(got));
  }
  close(file);
  return base::cat(size, " bytes, ", to_string(hasher.digest()));
}

StatusOr<std::string> serialize(const runtime::Executable& program) {
  const auto* compiled = dynamic_cast<const PjrtExecutable*>(&program);
  if (compiled == nullptr) {
    return base::invalid_argument("serialize ", program.name(), ": it was compiled for ",
                                  program.device().name(),
                                  ", which is no plugin's; serialise programs of plugins");
  }
  if (program.device().is_gone())
    return runtime::gone_error(base::cat("serialize ", program.name()), program.device());
  const auto& backend = static_cast<const PjrtBackend&>(program.device().backend());
  HEDDLE_RETURN_IF_ERROR(check_build(backend, base::cat("serialize ", program.name())));
  const Header header =
      header_of(backend, program.device(), compiled->is_portable(), compiled->program_hash());
  HEDDLE_ASSIGN_OR_RETURN(const std::string payload, compiled->loaded().serialize());
  std::string rest;
  for (const Part& part : kParts) base::append_text(header.*part.text, rest);
  base::append_text(payload, rest);
  const base::Hash128 sum = hash_of_text(rest);
  std::string bytes(kMark);
  base::append_number(sum.low, bytes);
  base::append_number(sum.high, bytes);
  return bytes + rest;
}

StatusOr<std::shared_ptr<runtime::Executable>> load(std::string_view bytes,
                                                    const hlo::Module& module,
                                                    const runtime::CompileOptions& options,
                                                    runtime::Device& device) {
  if (device.is_gone()) return runtime::gone_error(base::cat("load program ", module.name), device);
  auto* backend = dynamic_cast<PjrtBackend*>(&device.backend());
  if (backend == nullptr) {
    return base::invalid_argument("load program ", module.name, ": ", device.name(),
                                  " is no plugin's device; compile it there");
  }
  HEDDLE_RETURN_IF_ERROR(check_build(*backend, base::cat("load program ", module.name)));
  const Header here = header_of(*backend, device, backend->compiles_portable(options),
                                backend->program_hash(module, options, device));
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view payload, payload_for(bytes, here, module.name));
  return backend->load_module(std::make_shared<const hlo::Module>(module), options, device,
                              payload);
}

}  // namespace heddle::pjrt
