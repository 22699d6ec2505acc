#include "heddle/tools/conformance/workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace heddle::conformance {
namespace {

// Lines that a worker writes: "N name" before the case of that number, "= A message" with its
// outcome.
void say(int to, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  line.push_back('\n');
  for (size_t done = 0; done < line.size();) {
    const ssize_t wrote = write(to, line.data() + done, line.size() - done);
    if (wrote < 0 && errno != EINTR) _exit(2);
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
}

// Calls `visit` with each wanted case from number `start` on, until it has an error.
template <class Visit>
Status for_each_case(const WorkerOptions& options, int64_t start, Visit visit) {
  int64_t number = 0;
  for (const std::string& path : options.packs) {
    HEDDLE_ASSIGN_OR_RETURN(PackReader pack, PackReader::open(path));
    while (true) {
      HEDDLE_ASSIGN_OR_RETURN(const std::optional<Case> item, pack.next());
      if (!item.has_value()) break;
      const int64_t at = number++;
      if (at < start || (options.wanted != nullptr && !options.wanted(*item))) continue;
      HEDDLE_RETURN_IF_ERROR(visit(at, *item));
    }
  }
  return {};
}

// Ends the process without the destructors of what a plugin made.
[[noreturn]] void work(const WorkerOptions& options, const CompareCase& compare, int64_t start,
                       int to) {
  const Status status = for_each_case(options, start, [&](int64_t at, const Case& item) -> Status {
    say(to, base::cat(at, " ", item.name));
    HEDDLE_ASSIGN_OR_RETURN(const Comparison found, compare(item));
    say(to, base::cat("= ", static_cast<int>(found.agreement), " ", found.message));
    return {};
  });
  if (!status.ok()) say(to, base::cat("! ", base::message_of(status)));
  _exit(status.ok() ? 0 : 1);
}

// One worker as its parent sees it.
class Worker {
 public:
  Worker(pid_t process, int from) : process_(process), from_(from) {}
  ~Worker() {
    kill(process_, SIGKILL);
    close(from_);
    waitpid(process_, nullptr, 0);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // False at the end of its words, or after so long a silence.
  bool next_line(std::string& line, int silence_s) {
    size_t end = 0;
    while ((end = buffer_.find('\n')) == std::string::npos) {
      pollfd waiting{from_, POLLIN, 0};
      const int ready = poll(&waiting, 1, silence_s * 1000);
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return false;
      char bytes[4096];
      const ssize_t count = read(from_, bytes, sizeof bytes);
      if (count <= 0) return false;
      buffer_.append(bytes, static_cast<size_t>(count));
    }
    line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return true;
  }

 private:
  pid_t process_;
  int from_;
  std::string buffer_;
};

// What was heard of a worker until it fell silent.
struct Heard {
  int64_t next = 0;      // the number of the case behind the last that began
  bool pending = false;  // that case has no outcome
  std::string name;
  std::string error;
};

void hear(Worker& worker, int silence_s, const ReportCase& report, Heard& heard) {
  for (std::string line; worker.next_line(line, silence_s);) {
    if (line.starts_with("= ")) {
      heard.pending = false;
      report(heard.name, {static_cast<Agreement>(line[2] - '0'), line.substr(4)}, false);
    } else if (line.starts_with("! ")) {
      heard.error = line.substr(2);
    } else {
      const size_t space = line.find(' ');
      heard.next = std::stoll(line.substr(0, space)) + 1;
      heard.name = line.substr(space + 1);
      heard.pending = true;
    }
  }
}

}  // namespace

Status run_in_workers(const WorkerOptions& options, const CompareCase& compare,
                      const ReportCase& report) {
  for (Heard heard;;) {
    int ends[2];
    if (pipe(ends) != 0) return base::internal_error("no pipe to a worker can be made");
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process < 0) return base::internal_error("no worker can be made");
    if (process == 0) {
      close(ends[0]);
      work(options, compare, heard.next, ends[1]);
    }
    close(ends[1]);
    Worker worker(process, ends[0]);
    heard.pending = false;
    hear(worker, options.silence_s, report, heard);
    if (!heard.error.empty()) return base::invalid_argument(heard.error);
    if (!heard.pending) return {};
    report(heard.name, {Agreement::kSkipped, "did not end, or ended its process"}, true);
  }
}

}  // namespace heddle::conformance
