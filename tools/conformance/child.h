// A child process that writes lines. If it crashes or hangs, the caller goes on.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace heddle::conformance {

// Writes a line for the parent; line breaks in it become spaces. Ends the process if the parent is
// gone.
void say(int to, std::string line);

class Child {
 public:
  // Forks. `work` runs in the child, writes its lines to the file `to`, and returns the exit
  // status. The child then ends without destructors, also of a plugin's objects. The calling
  // process must have no threads. If there can be no child, there are no lines, and fate() says so.
  // silence_s   seconds without a line after which the child is given up
  Child(const std::function<int(int to)>& work, int silence_s);
  ~Child();  // ends the child
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] bool is_made() const { return process_ > 0; }

  // The next line; none after the last one, or after too long a silence.
  std::optional<std::string> line();

  // How it ended, in words, once there are no more lines. Waits as long as for a line.
  std::string fate();

 private:
  bool wait_for_bytes();
  [[nodiscard]] std::string gave_up() const;

  pid_t process_ = -1;
  int from_ = -1;
  int silence_s_;
  bool is_silent_ = false;  // given up
  std::string buffer_;
};

}  // namespace heddle::conformance
