#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/base/threads/test_no_threads.h"
#include "argosy/device/copy.h"
#include "argosy/device/event.h"
#include "argosy/device/host_stream.h"

namespace argosy {
namespace {

TEST(HostStream, TasksRunInOrderOnOneThreadWithItsBudget) {
  HostStream stream({"test", 3});
  std::vector<int> order;
  std::thread::id thread;
  int budget = 0;
  for (int i = 0; i < 1000; ++i) {
    stream.run([&, i] {
      order.push_back(i);
      thread = std::this_thread::get_id();
      budget = thread_budget();
    });
  }
  ASSERT_TRUE(stream.synchronize().ok());
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(budget, 3);
}

TEST(HostStream, EventsOrderTwoStreams) {
  for (int round = 0; round < 200; ++round) {
    HostStream a({"a"}), b({"b"});
    std::atomic<int> value{0};
    int seen = -1;
    a.run([&] {
      if (round % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      value = 7;
    });
    b.wait(a.record());
    b.run([&] { seen = value; });
    ASSERT_TRUE(b.synchronize().ok());
    ASSERT_EQ(seen, 7);
  }
}

TEST(HostStream, AnIdleStreamHasReachedItsEvents) {
  HostStream stream({"idle"});
  EXPECT_EQ(stream.record().state(), nullptr);
  stream.wait(Event());
  EXPECT_TRUE(stream.synchronize().ok());
}

TEST(HostStream, TheFirstErrorSurfacesOnceAndLaterTasksStillRun) {
  HostStream stream({"errors"});
  std::byte small[4], large[8] = {};
  stream.copy(Buffer::borrow(small, sizeof small), Buffer::borrow(large, sizeof large));
  bool ran = false;
  stream.run([&] { ran = true; });
  EXPECT_EQ(stream.synchronize().code(), Code::kInvalidArgument);
  EXPECT_TRUE(ran);
  EXPECT_TRUE(stream.synchronize().ok());
}

TEST(HostStream, GoingAwayFinishesTheQueue) {
  std::atomic<int> done{0};
  {
    HostStream stream({"drain"});
    for (int i = 0; i < 100; ++i) {
      stream.run([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 100);
}

TEST(HostStream, ManyThreadsMayFeedIt) {
  HostStream stream({"many"});
  int count = 0;  // only the stream's thread writes it
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        stream.run([&] { ++count; });
        if (i % 100 == 0) {
          EXPECT_TRUE(stream.synchronize().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(stream.synchronize().ok());
  EXPECT_EQ(count, 2000);
}

TEST(HostStream, WithoutThreadsItsCallersServe) {
  std::vector<int> order;
  const NoThreads none;
  HostStream stream({"poor"});
  for (int i = 0; i < 10; ++i) {
    stream.run([&, i] {
      order.push_back(i);
      if (i % 3 == 0) stream.run([&, i] { order.push_back(100 + i); });
    });
  }
  EXPECT_TRUE(stream.synchronize().ok());
  EXPECT_EQ(order, (std::vector<int>{0, 100, 1, 2, 3, 103, 4, 5, 6, 106, 7, 8, 9, 109}));
}

TEST(CopyMemory, EverySizeAndOffset) {
  const std::size_t most = (std::size_t{9} << 20) + 77;
  std::vector<unsigned char> from(most + 128), to(most + 128);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{4096},
                                  (std::size_t{4} << 20), (std::size_t{4} << 20) + 1, most}) {
    for (const std::size_t offset : {1, 64}) {
      to[offset - 1] = to[offset + bytes] = 0;
      copy_memory(to.data() + offset, from.data() + 3, bytes);
      ASSERT_EQ(std::memcmp(to.data() + offset, from.data() + 3, bytes), 0) << bytes << " at " << offset;
      ASSERT_EQ(to[offset + bytes], 0) << "wrote past the end";
      ASSERT_EQ(to[offset - 1], 0) << "wrote before the beginning";
    }
  }
}

// Issue 31: what a task threw ended the process.
TEST(HostStream, WhatATaskThrowsSurfacesWhenItIsWaitedFor) {
  HostStream stream({.name = "test"});
  bool after = false;
  stream.run([] { throw std::bad_alloc(); });
  stream.run([&] { after = true; });
  EXPECT_EQ(stream.synchronize().code(), Code::kResourceExhausted);
  EXPECT_TRUE(after);
  EXPECT_TRUE(stream.synchronize().ok());
}

}  // namespace
}  // namespace argosy
