#include "heddle/pjrt/internal/stored.h"

#include "heddle/base/bytes.h"
#include "heddle/base/settings.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/wire.h"
#include "heddle/runtime/cache/disk_cache.h"
#include "heddle/runtime/cache/identity.h"

namespace heddle::pjrt {
namespace {

// Plugins read one another's bytes as they please, or crash: all that could tell two of them apart
// is in the key, the processor too, since XLA's CPU has machine code for it.
std::string key_of(const Client& client, const ProgramSource& source) {
  std::string key = base::cat("heddle pjrt 1\n", client.api()->major(), ".", client.api()->minor(),
                              " ", client.platform_version(), "\n", source.build, "\n");
  for (const Client::Device& device : client.devices())
    base::append(key, device.id, " ", device.kind, "\n");
  base::append_text(base::environment_variable("XLA_FLAGS"), key);
  base::append_text(source.options, key);
  base::append_text(runtime::processor_identity(), key);
  return key + runtime::module_identity(source.module);
}

}  // namespace

StatusOr<std::shared_ptr<const Loaded>> compile_or_read(const std::shared_ptr<const Client>& client,
                                                        const ProgramSource& source,
                                                        const std::vector<Shape>& results) {
  const auto compile = [&] {
    return Loaded::compile(client, hlo::to_proto(source.module), source.options, results);
  };
  const std::shared_ptr<runtime::DiskCache> cache = runtime::disk_cache();
  if (cache == nullptr || source.build.empty()) return compile();
  const std::string key = key_of(*client, source);
  std::shared_ptr<const Loaded> found;
  cache->find(key, [&](std::string_view payload) {
    auto loaded = Loaded::deserialize(client, payload, results);
    if (loaded.ok()) found = *std::move(loaded);
    return found != nullptr;
  });
  if (found != nullptr) return found;
  HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> compiled, compile());
  if (const StatusOr<std::string> bytes = compiled->serialize(); bytes.ok() && !bytes->empty()) {
    cache->store(key,
                 base::cat("pjrt ", client->platform(), " ", source.module.name, ", ",
                           source.module.instruction_count(), " instructions"),
                 *bytes);
  }
  return compiled;
}

}  // namespace heddle::pjrt
