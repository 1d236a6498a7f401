#include "argosy/cluster/in_memory_store.h"

#include <gtest/gtest.h>

#include <thread>

namespace argosy {
namespace {

using std::chrono::milliseconds;

TEST(InMemoryStore, GetWaitsForPut) {
  InMemoryStore store;
  std::thread putter([&] { EXPECT_TRUE(store.put("a", "1").ok()); });
  const Result<std::string> found = store.get("a", milliseconds(10'000));
  putter.join();
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(*found, "1");
}

TEST(InMemoryStore, KeyIsWrittenOnce) {
  InMemoryStore store;
  EXPECT_TRUE(store.put("a", "1").ok());
  EXPECT_TRUE(store.put("a", "1").ok());
  EXPECT_EQ(store.put("a", "2").code(), Code::kAlreadyExists);
}

TEST(InMemoryStore, TimeoutNamesTheKey) {
  InMemoryStore store;
  const Status missing = store.get("rank 3", milliseconds(1)).status();
  EXPECT_EQ(missing.code(), Code::kDeadlineExceeded);
  EXPECT_NE(missing.message().find("rank 3"), std::string::npos) << missing.to_string();
}

TEST(InMemoryStore, AbortEndsTheWaitWithTheFirstCause) {
  InMemoryStore store;
  std::thread aborter([&] {
    store.abort(unavailable("first"));
    store.abort(internal_error("second"));
  });
  const Status ended = store.get("never", milliseconds(60'000)).status();
  aborter.join();
  EXPECT_EQ(ended.message(), "first");
  EXPECT_EQ(store.put("late", "1").message(), "first");
}

}  // namespace
}  // namespace argosy
