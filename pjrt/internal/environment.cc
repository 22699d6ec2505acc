#include "heddle/pjrt/internal/environment.h"

#include <unistd.h>

#include <list>
#include <mutex>
#include <string_view>
#include <vector>

#include "heddle/base/settings.h"
#include "heddle/base/strings.h"

namespace heddle::pjrt {
namespace {

struct Variables {
  std::string added;
  std::vector<char*> all;  // ends with a null
};

// All that the environment ever was made: others may read it for ever.
struct Kept {
  std::mutex mutex;
  std::list<Variables> all;
};
Kept& kept() {
  static Kept& instance = *new Kept;
  return instance;
}

bool is_named(std::string_view variable, std::string_view name) {
  return variable.size() > name.size() && variable[name.size()] == '=' &&
         variable.substr(0, name.size()) == name;
}

}  // namespace

bool set_environment_variable(const std::string& name, const std::string& value, IfSet if_set) {
  const std::scoped_lock lock(kept().mutex);
  const bool is_there = base::has_environment_variable(name.c_str());
  if (is_there && if_set == IfSet::kKeep) return false;
  if (is_there && base::environment_variable(name.c_str()) == value) return false;
  Variables& made = kept().all.emplace_back();
  made.added = base::cat(name, "=", value);
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    if (!is_named(*each, name)) made.all.push_back(*each);
  }
  made.all.push_back(made.added.data());
  made.all.push_back(nullptr);
  __atomic_store_n(&environ, made.all.data(), __ATOMIC_RELEASE);
  return true;
}

}  // namespace heddle::pjrt
