// in_own_process(): runs a function in a child process. For measurements of work that a process does only once, such as
// its first step.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <type_traits>

#include "argosy/base/status.h"

namespace argosy::cli {

// Returns the result of work(), a Result<T>, computed in a forked child: the child's changes are not seen here. Of an
// error only the message arrives, as INTERNAL. UNAVAILABLE: there is no process, or it ended early. REQUIRES: this
// process has one thread.
template <typename T, typename Work>
Result<T> in_own_process(Work&& work) {
  static_assert(std::is_trivially_copyable_v<T>, "it comes through a pipe");
  int ends[2];
  if (::pipe(ends) != 0) return unavailable("no pipe to a process: ", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) {
    const int why = errno;
    (void)::close(ends[0]);
    (void)::close(ends[1]);
    return unavailable("no process of its own: ", std::strerror(why));
  }
  const auto send = [&](const void* data, std::size_t bytes) {
    for (const char* at = static_cast<const char*>(data); bytes > 0;) {
      const ssize_t n = ::write(ends[1], at, bytes);
      if (n < 0) ::_exit(1);  // nobody reads
      at += n;
      bytes -= static_cast<std::size_t>(n);
    }
  };
  if (child == 0) {
    (void)::close(ends[0]);
    const Result<T> result = work();
    const char ok = result.ok() ? 1 : 0;
    send(&ok, 1);
    if (result.ok()) {
      send(&*result, sizeof(T));
    } else {
      send(result.status().message().data(), result.status().message().size());
    }
    ::_exit(0);
  }
  (void)::close(ends[1]);
  std::string got;
  char part[4096];
  for (;;) {
    const ssize_t n = ::read(ends[0], part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got.append(part, static_cast<std::size_t>(n));
  }
  (void)::close(ends[0]);
  int ended = 0;
  while (::waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(ended)) return unavailable("a process for it ended by signal ", WTERMSIG(ended));
  if (got.empty()) return unavailable("a process for it ended without a word");
  if (got[0] == 0) return internal_error(got.substr(1));
  T value;
  if (got.size() != 1 + sizeof value) return unavailable("a process for it ended in mid-sentence");
  std::memcpy(&value, got.data() + 1, sizeof value);
  return value;
}

}  // namespace argosy::cli
