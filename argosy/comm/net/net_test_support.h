// Tasks of a NetGroup as threads of a test, or as processes that meet in a folder.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/comm/net/net_group.h"

namespace argosy {

// An address book in memory.
class MemoryBook {
 public:
  NetAddressBook book() {
    return {.put =
                [this](std::string_view key, std::string_view value) {
                  MutexLock lock(mutex_);
                  values_[std::string(key)] = std::string(value);
                  changed_.notify_all();
                  return ok_status();
                },
            .get = [this](std::string_view key, std::chrono::milliseconds timeout) -> Result<std::string> {
              const auto end = std::chrono::steady_clock::now() + timeout;
              MutexLock lock(mutex_);
              for (;;) {
                const auto found = values_.find(std::string(key));
                if (found != values_.end()) return found->second;
                if (!changed_.wait_until(mutex_, end)) return deadline_exceeded("nobody put ", key);
              }
            }};
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::string> values_ ARGOSY_GUARDED_BY(mutex_);
};

// An address book in a folder: for processes.
inline NetAddressBook folder_book(const std::string& folder) {
  const auto file = [folder](std::string_view key) {
    std::string name(key);
    for (char& c : name) c = c == '/' ? '_' : c;
    return folder + "/" + name;
  };
  return {.put =
              [file](std::string_view key, std::string_view value) {
                const std::string name = file(key);
                std::ofstream(name + ".part", std::ios::binary) << value;
                std::filesystem::rename(name + ".part", name);
                return ok_status();
              },
          .get = [file](std::string_view key, std::chrono::milliseconds timeout) -> Result<std::string> {
            const auto end = std::chrono::steady_clock::now() + timeout;
            while (!std::filesystem::exists(file(key))) {
              if (std::chrono::steady_clock::now() > end) return deadline_exceeded("nobody put ", key);
              std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
            std::ifstream in(file(key), std::ios::binary);
            std::ostringstream text;
            text << in.rdbuf();
            return text.str();
          }};
}

inline bool has_gloo() {
  NetEngineOptions one{.rank = 0, .size = 1, .address = "127.0.0.1", .group = "probe"};
  MemoryBook book;
  one.book = book.book();
  const auto engine = open_gloo(one);
  return engine.ok() || engine.status().id() != "ARG-COMM-020";
}

// A group over Gloo on loopback. Called by every task.
inline std::unique_ptr<NetGroup> connect(int rank, int size, const NetAddressBook& book,
                                         std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  auto engine = open_gloo(
      {.rank = rank, .size = size, .address = "127.0.0.1", .group = "test", .book = book, .timeout = timeout});
  EXPECT_TRUE(engine.ok()) << engine.status().to_string();
  return engine.ok() ? std::make_unique<NetGroup>(*std::move(engine)) : nullptr;
}

// Runs `body` as every task of a group, each on a thread of its own.
inline void spawn_tasks(int size, const std::function<void(NetGroup&)>& body,
                        std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  MemoryBook book;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      set_thread_budget(1);
      const auto group = connect(rank, size, book.book(), timeout);
      if (group == nullptr) return;
      body(*group);
      // Nobody leaves before the last has what it waits for.
      if (group->cause().ok()) {
        EXPECT_TRUE(group->barrier({.name = "end"}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace argosy
