#include "heddle/tools/conformance/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "heddle/base/text/strings.h"

namespace heddle::conformance {

void say(int to, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  line.push_back('\n');
  for (size_t done = 0; done < line.size();) {
    const ssize_t wrote = write(to, line.data() + done, line.size() - done);
    if (wrote < 0 && errno != EINTR) _exit(2);
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
}

Child::Child(const std::function<int(int to)>& work, int silence_s) : silence_s_(silence_s) {
  int ends[2];
  if (pipe(ends) != 0) return;
  std::fflush(nullptr);
  process_ = fork();
  if (process_ == 0) {
    close(ends[0]);
    _exit(work(ends[1]));
  }
  close(ends[1]);
  if (process_ > 0) {
    from_ = ends[0];
  } else {
    close(ends[0]);
  }
}

Child::~Child() {
  if (from_ >= 0) close(from_);
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

bool Child::wait_for_bytes() {
  while (true) {
    pollfd waiting{from_, POLLIN, 0};
    const int ready = poll(&waiting, 1, silence_s_ * 1000);
    if (ready < 0 && errno == EINTR) continue;
    is_silent_ = ready == 0;
    return ready > 0;
  }
}

std::optional<std::string> Child::line() {
  size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (from_ < 0 || !wait_for_bytes()) return std::nullopt;
    char bytes[4096];
    const ssize_t count = read(from_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    buffer_.append(bytes, static_cast<size_t>(count));
  }
  std::string out = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return out;
}

std::string Child::gave_up() const { return base::cat("did not end in ", silence_s_, " s"); }

std::string Child::fate() {
  if (process_ <= 0) return "could not be made";
  if (is_silent_) return gave_up();
  // It has no more lines, so it ends: a process closes its files before waitpid() sees its end.
  int status = 0;
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(silence_s_);
  while (waitpid(process_, &status, WNOHANG) <= 0) {
    if (std::chrono::steady_clock::now() > last) return gave_up();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process_ = -1;
  if (WIFSIGNALED(status))
    return base::cat("ended the process by signal ", WTERMSIG(status), ", ",
                     strsignal(WTERMSIG(status)));
  return base::cat("ended the process with ", WEXITSTATUS(status));
}

}  // namespace heddle::conformance
