// Issue 31: what no honest client sends is seen before gRPC sees it, by frame headers alone.
#include "argosy/rpc/gate/http2_guard.h"

#include <gtest/gtest.h>

#include <random>

#include "argosy/base/str.h"

namespace argosy::tf {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string frame(int kind, int flags, std::uint32_t stream, std::string_view payload = "") {
  const auto byte = [](std::uint32_t b) { return static_cast<char>(b & 0xff); };
  const auto n = static_cast<std::uint32_t>(payload.size());
  std::string f = {byte(n >> 16),
                   byte(n >> 8),
                   byte(n),
                   static_cast<char>(kind),
                   static_cast<char>(flags),
                   byte(stream >> 24),
                   byte(stream >> 16),
                   byte(stream >> 8),
                   byte(stream)};
  return f + std::string(payload);
}
std::string hello() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0); }
std::string call(std::uint32_t stream, std::size_t bytes) {
  std::string text = frame(1, 4, stream, std::string(100, 'h'));  // its message says that it has no bytes
  for (; bytes > 16384; bytes -= 16384) text += frame(0, 0, stream, std::string(16384, '\0'));
  return text + frame(0, 1, stream, std::string(bytes, '\0'));
}

struct Watched {
  std::shared_ptr<UnfinishedBytes> peer = std::make_shared<UnfinishedBytes>(1 << 20),
                                   all = std::make_shared<UnfinishedBytes>(3 << 20);
  Http2Guard guard{peer, all, kSecond};
  std::int64_t now = kSecond;
  bool see(const std::string& bytes) { return guard.see(bytes, now); }
};

TEST(Http2Guard, HonestCallsPass) {
  for (const std::size_t piece : {1u, 7u, 1000u, 1u << 20}) {
    Watched w;
    std::string text = hello() + frame(4, 1, 0);
    for (std::uint32_t i = 0; i < 200; ++i) {
      text += call(2 * i + 1, i * 100);
      if (i % 20 == 0) text += frame(6, 1, 0, "12345678") + frame(8, 0, 0, "1234");
    }
    for (std::size_t at = 0; at < text.size(); at += piece) {
      ASSERT_TRUE(w.see(text.substr(at, piece))) << w.guard.why() << " at " << at;
    }
    EXPECT_EQ(w.peer->now, 0);
    EXPECT_EQ(w.all->now, 0);
    EXPECT_TRUE(w.guard.in_time(w.now + 1000 * kSecond));
  }
}

TEST(Http2Guard, FloodsAreCutOff) {
  struct Flood {
    const char* why;
    std::function<std::string(std::uint32_t)> one;
    int passes;  // at most so many
  };
  const Flood floods[] = {
      {"resets", [](std::uint32_t i) { return frame(1, 4, 2 * i + 1, "h") + frame(3, 0, 2 * i + 1, "1234"); }, 600},
      {"resets", [](std::uint32_t i) { return call(2 * i + 1, 9) + frame(3, 0, 2 * i + 1, "1234"); }, 600},
      {"pings", [](std::uint32_t) { return frame(6, 0, 0, "12345678"); }, 200},
      {"pings", [](std::uint32_t) { return frame(6, 1, 0, "12345678"); }, 200},
      {"settings", [](std::uint32_t) { return frame(4, 0, 0); }, 100},
      {"settings", [](std::uint32_t) { return frame(4, 1, 0); }, 100},
      {"window updates", [](std::uint32_t) { return frame(8, 0, 0, "1234"); }, 20000},
      {"little use", [](std::uint32_t) { return frame(2, 0, 1, "12345"); }, 200},
      {"little use", [](std::uint32_t) { return frame(99, 0, 0, "x"); }, 200},
      {"small frames", [](std::uint32_t) { return frame(0, 0, 1, ""); }, 6000},
      {"streams", [](std::uint32_t i) { return frame(1, 4, 2 * i + 1, "h"); }, 4097},
      {"trailers", [](std::uint32_t) { return frame(1, 5, 1, "h"); }, 200},
      {"without end", [](std::uint32_t i) { return i == 0 ? frame(1, 0, 1, "h") : frame(9, 0, 1, "h"); }, 20},
      {"without end", [](std::uint32_t i) { return frame(i == 0 ? 1 : 9, 0, 1, std::string(16384, 'h')); }, 5},
      {"of one peer", [](std::uint32_t i) { return frame(i == 0 ? 1 : 0, 4, 1, std::string(16384, '\0')); }, 66},
      {"larger than", [](std::uint32_t i) { return frame(i == 0 ? 1 : 0, 4, 1, std::string(16384, 'h')); }, 1},
  };
  for (const Flood& flood : floods) {
    Watched w;
    ASSERT_TRUE(w.see(hello()));
    int i = 0;
    while (i < 100000 && w.see(flood.one(static_cast<std::uint32_t>(i)))) ++i;
    EXPECT_LE(i, flood.passes) << flood.why;
    EXPECT_NE(std::string(w.guard.why()).find(flood.why), std::string::npos) << w.guard.why();
  }
}

TEST(Http2Guard, TheSameAtAnHonestPacePasses) {
  Watched w;
  ASSERT_TRUE(w.see(hello()));
  for (std::uint32_t i = 0; i < 20000; ++i) {
    ASSERT_TRUE(w.see(call(2 * i + 1, 9) + frame(3, 0, 2 * i + 1, "1234") + frame(6, 0, 0, "12345678") +
                      frame(8, 0, 0, "1234")))
        << w.guard.why();
    w.now += kSecond / 10;
    if (i % 100 == 0) {
      ASSERT_TRUE(w.see(frame(4, 1, 0)));
    }
  }
}

TEST(Http2Guard, LengthsThatCannotBeAreNotWaitedFor) {
  for (const std::size_t piece : {1u, 3u, 100u}) {
    for (const bool large : {false, true}) {
      Watched w;
      const std::string prefix = large ? std::string("\0\xff\xff\xff\xffx", 6) : std::string("\0\0\x0f\xff\xffx", 6);
      const std::string text = hello() + frame(1, 4, 1, "h") + frame(0, 0, 1, prefix);
      bool good = true;
      for (std::size_t at = 0; good && at < text.size(); at += piece) good = w.see(text.substr(at, piece));
      EXPECT_EQ(good, !large) << piece;
    }
  }
}

TEST(Http2Guard, WhatIsNoHttp2IsCutOffAtOnce) {
  const std::string wrong[] = {
      "GET / HTTP/1.1\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nx",
      hello().substr(0, 24) + frame(1, 4, 1, "h"),
      hello() + frame(1, 4, 2, "h"),
      hello() + frame(0, 0, 0, "d"),
      hello() + frame(5, 0, 1, "h"),
      hello() + frame(1, 0, 1, "h") + frame(6, 0, 0, "12345678"),
      hello() + frame(9, 4, 1, "h"),
      hello() + frame(6, 0, 0, "1"),
      hello() + frame(4, 0, 0, std::string(1030, 's')),
  };
  for (const std::string& text : wrong) {
    Watched w;
    EXPECT_EQ(w.see(text + frame(6, 0, 0, "12345678")), false) << text;
  }
}

TEST(Http2Guard, TimeIsLimited) {
  Watched silent;
  EXPECT_TRUE(silent.guard.in_time(silent.now + 9 * kSecond));
  EXPECT_FALSE(silent.guard.in_time(silent.now + 11 * kSecond));
  Watched headers;
  ASSERT_TRUE(headers.see(hello() + frame(1, 0, 1, "h")));
  EXPECT_TRUE(headers.guard.in_time(headers.now + 9 * kSecond));
  EXPECT_FALSE(headers.guard.in_time(headers.now + 11 * kSecond));
  Watched slow;
  ASSERT_TRUE(slow.see(hello() + frame(1, 4, 1, "h")));
  for (int s = 0; s < 59; ++s, slow.now += kSecond) {
    ASSERT_TRUE(slow.see(frame(0, 0, 1, std::string(1, '\0'))));
    ASSERT_TRUE(slow.guard.in_time(slow.now));
  }
  EXPECT_FALSE(slow.guard.in_time(slow.now + 2 * kSecond));
  EXPECT_STREQ(slow.guard.why(), "a message that comes too slowly");
  Watched large;
  ASSERT_TRUE(large.see(hello() + frame(1, 4, 1, "h") + frame(0, 0, 1, std::string(500'000, '\0'))));
  EXPECT_TRUE(large.guard.in_time(large.now + 100 * kSecond)) << large.guard.why();
}

TEST(Http2Guard, UnfinishedBytesAreOfAllConnections) {
  auto all = std::make_shared<UnfinishedBytes>(2 << 20);
  const auto make = [&] {
    return std::make_unique<Http2Guard>(std::make_shared<UnfinishedBytes>(1 << 20), all, kSecond);
  };
  const std::string part = hello() + frame(1, 4, 1, "h") + frame(0, 0, 1, std::string(900'000, '\0'));
  auto a = make(), b = make(), c = make();
  EXPECT_TRUE(a->see(part, kSecond) && b->see(part, kSecond));
  EXPECT_FALSE(c->see(part, kSecond));
  EXPECT_STREQ(c->why(), "too many bytes of unfinished messages");
  c.reset();
  a.reset();
  EXPECT_TRUE(make()->see(part, kSecond));
  b.reset();
  EXPECT_EQ(all->now, 0);
}

// Whatever comes, in whatever pieces: the books are even at the end.
TEST(Http2Guard, NoiseKeepsTheBooksEven) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Watched w;
    {
      Http2Guard guard(w.peer, w.all, kSecond);
      std::string text = hello();
      for (int i = 0; i < 200; ++i) {
        text += frame(static_cast<int>(random() % 11), static_cast<int>(random() % 8), random() % 12,
                      std::string(random() % 3000, 'n'));
      }
      if (round % 2 == 0) text[24 + random() % (text.size() - 24)] ^= static_cast<char>(1 << random() % 8);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t n = 1 + random() % 5000;
        if (!guard.see(std::string_view(text).substr(at, n), kSecond + static_cast<std::int64_t>(at) * 1000)) break;
        at += n;
        EXPECT_GE(w.peer->now, 0);
      }
    }
    EXPECT_EQ(w.peer->now, 0);
    EXPECT_EQ(w.all->now, 0);
  }
}

}  // namespace
}  // namespace argosy::tf
