// A server's calls of a program's functions: the messages, connections that are used again, programs that go away.
#include "argosy/tf/server/callbacks/py_func_bridge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <future>
#include <thread>

#include "argosy/base/system/test_files.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;

// Listens as process 7 and answers every call as it is told.
class Program {
 public:
  explicit Program(const std::string& folder) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/calls_7", folder.c_str());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
  }
  ~Program() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  // `heard` bytes of a call are read before each answer; no answer: the connection is closed.
  void answers(std::size_t heard, std::vector<std::string> answers) {
    thread_ = std::thread([this, heard, answers = std::move(answers)] {
      std::size_t i = 0;
      for (int s; i < answers.size() && (s = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(s)) {
        ++connections;
        for (; i < answers.size(); ++i) {
          std::string call(heard, '\0');
          if (::recv(s, call.data(), heard, MSG_WAITALL) != static_cast<ssize_t>(heard)) break;
          said = call;
          if (answers[i].empty()) {
            ++i;
            break;
          }
          (void)::send(s, answers[i].data(), answers[i].size(), MSG_NOSIGNAL);
        }
        char c = 0;
        if (i == answers.size() && !answers.back().empty()) (void)::recv(s, &c, 1, 0);  // until the other side ends
      }
    });
  }
  std::atomic<int> connections = 0;
  std::string said;

 private:
  int listener_ = -1;
  std::thread thread_;
};

template <typename... T>
std::string bytes(T... numbers) {
  std::string text;
  (text.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers)), ...);
  return text;
}

std::uint32_t u32(std::uint32_t n) { return n; }
std::uint64_t u64(std::uint64_t n) { return n; }
std::int64_t i64(std::int64_t n) { return n; }

Result<std::vector<Tensor>> call(PyFuncBridge& calls, const std::string& token, std::vector<Tensor> arguments,
                                 Cancellation* cancellation = nullptr) {
  std::promise<Result<std::vector<Tensor>>> answer;
  calls.call(token, std::move(arguments), cancellation,
             [&](Result<std::vector<Tensor>> given) { answer.set_value(std::move(given)); });
  return answer.get_future().get();
}

class PyFuncBridgeTest : public testing::Test {
 protected:
  const TempDirectory folder_;
  Program program_{folder_.path()};
  // What a call of f@7 with float[2] {1, 2} and the string "ab" is.
  const std::string expected_ = bytes(u64(3)) + "f@7" + bytes(u32(2), u32(1), u32(1), i64(2), u64(8), 1.f, 2.f) +
                                bytes(u32(7), u32(0), u64(10), u64(2)) + "ab";
  const std::vector<Tensor> arguments_ = {Tensor::vector<float>({1, 2}), Tensor::scalar("ab")};
};

TEST_F(PyFuncBridgeTest, TensorsGoAndComeOverOneConnection) {
  program_.answers(expected_.size(), {bytes(u32(0), u32(2), u32(9), u32(1), i64(1), u64(8), i64(5)) +
                                          bytes(u32(7), u32(1), i64(1), u64(9), u64(1)) + "x",
                                      bytes(u32(11), u64(4)) + "over", bytes(u32(0), u32(0))});
  PyFuncBridge calls(folder_.path());
  const auto first = call(calls, "f@7", arguments_);
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ(first->at(0).to_string(), "int64[1] {5}");
  EXPECT_EQ(*first->at(1).data<std::string>(), "x");
  EXPECT_EQ(program_.said, expected_);
  const Status second = call(calls, "f@7", arguments_).status();
  EXPECT_EQ(second.code(), Code::kOutOfRange);
  EXPECT_EQ(second.message(), "over");
  EXPECT_TRUE(call(calls, "f@7", arguments_)->empty());
  EXPECT_EQ(program_.connections, 1);
}

TEST_F(PyFuncBridgeTest, AProgramThatGoesAwayOrTalksNonsenseIsAnError) {
  program_.answers(expected_.size(), {"", bytes(u32(0), u32(1), u32(99), u32(0)), bytes(u32(0), u32(0))});
  PyFuncBridge calls(folder_.path());
  EXPECT_THAT(call(calls, "f@7", arguments_).status().message(), HasSubstr("went away"));
  EXPECT_THAT(call(calls, "f@7", arguments_).status().message(), HasSubstr("not understood"));
  EXPECT_TRUE(call(calls, "f@7", arguments_).ok());  // over a new connection
}

TEST_F(PyFuncBridgeTest, OnlyProgramsOfTheFolderAreCalled) {
  program_.answers(expected_.size(), {});
  PyFuncBridge calls(folder_.path());
  for (const char* token : {"f", "f@", "f@8", "f@../calls_7", "f@7/../calls_7"}) {
    EXPECT_EQ(call(calls, token, {}).status().id(), "ARG-CALL-002") << token;
  }
}

TEST_F(PyFuncBridgeTest, ACancelledCallEndsAtOnce) {
  program_.answers(1 << 20, {"never"});
  PyFuncBridge calls(folder_.path());
  Cancellation cancellation;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    cancellation.cancel(deadline_exceeded("too late"));
  });
  EXPECT_EQ(call(calls, "f@7", arguments_, &cancellation).status().code(), Code::kDeadlineExceeded);
  later.join();
}

// A program that closes a connection between two calls is there none the less.
TEST_F(PyFuncBridgeTest, AConnectionThatWasClosedMeanwhileIsNotUsedAgain) {
  program_.answers(1, {});
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/calls_8", folder_.path().c_str());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  std::atomic<int> closed{0};
  std::thread program([&] {
    const std::string nothing = bytes(u32(0), u32(0));
    std::string heard(expected_.size(), '\0');
    for (int i = 0; i < 2; ++i) {
      const int s = ::accept(listener, nullptr, nullptr);
      (void)::recv(s, heard.data(), heard.size(), MSG_WAITALL);
      (void)::send(s, nothing.data(), nothing.size(), MSG_NOSIGNAL);
      ::close(s);
      ++closed;
    }
  });
  PyFuncBridge calls(folder_.path());
  for (int i = 0; i < 2; ++i) {
    const auto answer = call(calls, "f@8", arguments_);
    EXPECT_TRUE(answer.ok()) << answer.status().to_string();
    if (!answer.ok()) ::shutdown(listener, SHUT_RDWR);
    for (int wait = 0; wait < 1000 && closed <= i; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  program.join();
  ::close(listener);
}

}  // namespace
}  // namespace argosy::tf
