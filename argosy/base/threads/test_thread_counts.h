// For tests: this process's threads, counted by name. A thread inherits the name of the one that starts it.
#pragma once

#include <pthread.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "argosy/base/system/cgroup.h"

namespace argosy {

// Names the calling thread, and so the threads that it starts from now on (at most 15 characters).
inline void name_this_thread(const std::string& name) { pthread_setname_np(pthread_self(), name.c_str()); }

template <typename Counts>
int threads_that(const Counts& counts) {
  int count = 0;
  std::error_code error;
  std::filesystem::directory_iterator task("/proc/self/task", error);
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
    count += counts(read_small_file(task->path().string() + "/comm")) ? 1 : 0;
  }
  return count;
}
inline int threads_in_all() {
  return threads_that([](const std::string&) { return true; });
}
inline int threads_named(const std::string& name) {
  return threads_that([&](const std::string& comm) { return comm == name + "\n"; });
}

// Waits up to ten seconds for done(); returns it.
template <typename Done>
bool eventually(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return done();
}

}  // namespace argosy
