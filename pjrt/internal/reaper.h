// Clients may not go on a plugin's own threads: their end waits for these. Where the last one who
// holds a client is a call by the plugin, as of an event that has happened, it goes on a thread of
// Heddle's.
#pragma once

#include <functional>

namespace heddle::pjrt {

// While it lives, this thread is in a call by a plugin.
class InPluginsCall {
 public:
  InPluginsCall();
  ~InPluginsCall();
  InPluginsCall(const InPluginsCall&) = delete;
  InPluginsCall& operator=(const InPluginsCall&) = delete;

  [[nodiscard]] static bool is_here();
};

// Starts the thread, where there is none yet, so that a call by a plugin need not.
void start_reaper();

// Does the work on it, soon; at the latest before the process exits.
void do_elsewhere(std::function<void()> work);

}  // namespace heddle::pjrt
