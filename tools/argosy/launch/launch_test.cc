// Frames, streams and the one cause of a launch: what needs no process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "argosy/rpc/gate/descriptor.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/launch/agent.h"
#include "tools/argosy/launch/console_output.h"
#include "tools/argosy/launch/frames.h"
#include "tools/argosy/launch/launch_variables.h"
#include "tools/argosy/launch/outcome.h"
#include "tools/argosy/launch/streams.h"

namespace argosy::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Frames, TravelInAnyPieces) {
  const std::string stream = make_frame(FrameKind::kOut, "hello") + make_frame(FrameKind::kErr, "") +
                             make_frame(FrameKind::kExit, std::string(300, 'x'));
  for (std::size_t step : {1u, 3u, 1000u}) {
    FrameReader reader;
    std::vector<std::string> taken;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      ASSERT_TRUE(reader
                      .feed(std::string_view(stream).substr(at, step),
                            [&](FrameKind kind, std::string_view body) {
                              taken.push_back(str_cat(static_cast<char>(kind), body.size()));
                            })
                      .ok());
    }
    EXPECT_THAT(taken, ElementsAre("o5", "e0", "x300"));
  }
}

class ConsoleOutputTest : public testing::Test {
 protected:
  ConsoleOutputTest() {
    ::signal(SIGPIPE, SIG_IGN);  // as in a launcher
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_ = tf::Descriptor(ends[0]);
    write_ = tf::Descriptor(ends[1]);
  }
  // As many bytes as come, up to `most`.
  std::string read(std::size_t most) {
    std::string text(most, 0);
    std::size_t size = 0;
    while (size < most) {
      const ssize_t n = ::read(read_.get(), text.data() + size, most - size);
      if (n <= 0) break;
      size += static_cast<std::size_t>(n);
    }
    text.resize(size);
    return text;
  }
  static bool comes_true(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
  }

  tf::Descriptor read_, write_;
};

TEST_F(ConsoleOutputTest, WritingWaitsForNobody) {
  ConsoleOutput output(write_.get());
  std::string all;
  for (int i = 0; all.size() < ConsoleOutput::kMostBytes + (1 << 20); ++i) all += std::to_string(i);
  output.write(all);  // more than the pipe takes
  EXPECT_TRUE(output.full());
  EXPECT_FALSE(output.empty());
  EXPECT_EQ(read(all.size()), all);
  EXPECT_TRUE(comes_true([&] { return output.empty(); }));
  EXPECT_FALSE(output.full());
  output.write("more");
  EXPECT_EQ(read(4), "more");
}

TEST_F(ConsoleOutputTest, WhatNobodyReadsIsGivenUp) {
  const auto begin = std::chrono::steady_clock::now();
  ConsoleOutput output(write_.release());  // stays open: its thread may be in a write when all is over
  output.write(std::string(ConsoleOutput::kMostBytes, 'x'));
  const auto unread = [&] { return std::chrono::steady_clock::now() - output.unread_since(begin); };
  EXPECT_TRUE(comes_true([&] { return unread() >= std::chrono::milliseconds(20); }));
  const auto from = begin + std::chrono::hours(1);
  EXPECT_EQ(output.unread_since(from), from);
  output.give_up();
  output.write("more");
  EXPECT_FALSE(output.full());
  EXPECT_TRUE(output.empty());
}

TEST_F(ConsoleOutputTest, ADescriptorThatDoesNotWaitLosesNothing) {
  ASSERT_EQ(::fcntl(write_.get(), F_SETFL, O_NONBLOCK), 0);
  ConsoleOutput output(write_.get());
  constexpr std::size_t kBytes = 1 << 20;  // 16 times what a pipe holds
  output.write(std::string(kBytes, 'x'));
  EXPECT_EQ(read(kBytes), std::string(kBytes, 'x'));
  EXPECT_TRUE(comes_true([&] { return output.empty(); }));
}

TEST_F(ConsoleOutputTest, AReaderThatIsGoneIsNoError) {
  ConsoleOutput output(write_.get());
  read_.reset();
  output.write(std::string(ConsoleOutput::kMostBytes, 'x'));
  EXPECT_TRUE(comes_true([&] { return output.empty(); }));
  EXPECT_FALSE(output.full());
}

TEST(Frames, OtherTextIsAnError) {
  FrameReader reader;
  const Status status = reader.feed("Welcome to gpu-b\n", [](FrameKind, std::string_view) { FAIL(); });
  EXPECT_EQ(status.id(), "ARG-CLUSTER-052");
  EXPECT_THAT(status.message(), HasSubstr("Welcome"));
}

TEST(AgentTask, ComesBackAsItWas) {
  const AgentTask task{.words = {"a", "b c"}, .environment = {{"X", "1\n2"}}, .directory = "/tmp", .devices = 2};
  const auto again = parse_agent_task(to_line(task));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->words, task.words);
  EXPECT_EQ(again->environment, task.environment);
  EXPECT_EQ(again->devices, 2);
  for (const char* text : {"", "{}", "[]", R"({"words": []})", R"({"words": [1]})", "x"}) {
    EXPECT_EQ(parse_agent_task(text).status().id(), "ARG-CLUSTER-052") << text;
  }
}

TEST(PassedVariables, AreTheProductsOwnAndTheNamedOnes) {
  ::setenv("ARGOSY_START_TIMEOUT", "a b", 1);
  ::setenv("ARGOSY_COORDINATOR", "a:1", 1);
  ::setenv("ARGOSY_JOB_TOKEN", "ab", 1);
  ::setenv("OTHER_TEST", "c", 1);
  const EnvironmentMap own = own_variables();
  EXPECT_EQ(own.at("ARGOSY_START_TIMEOUT"), "a b");
  for (const char* name : {"ARGOSY_COORDINATOR", "ARGOSY_JOB_TOKEN", "OTHER_TEST"}) EXPECT_FALSE(own.contains(name));
  EXPECT_EQ(named_variables({"OTHER_TEST", "X=1=2", "Y="}).value(),
            (EnvironmentMap{{"OTHER_TEST", "c"}, {"X", "1=2"}, {"Y", ""}}));
  for (const char* wrong : {"", "=1", "NOT_SET_ANYWHERE", "RANK=3", "TF_CONFIG", "ARGOSY_JOB_TOKEN=ab"}) {
    EXPECT_EQ(named_variables({wrong}).status().code(), Code::kInvalidArgument) << wrong;
  }
  for (const char* name : {"ARGOSY_START_TIMEOUT", "ARGOSY_COORDINATOR", "ARGOSY_JOB_TOKEN", "OTHER_TEST"})
    ::unsetenv(name);
}

TEST(WithDevices, AddsThemOnceAndOnlyWhereTheyAreTaken) {
  EXPECT_THAT(with_devices({"argosy", "train", "lenet"}, 2, 0),
              ElementsAre("argosy", "train", "--emulate", "2", "lenet"));
  EXPECT_THAT(with_devices({"argosy", "train", "lenet"}, 2, 2), ElementsAre("argosy", "train", "--gpus", "2", "lenet"));
  EXPECT_THAT(with_devices({"argosy", "train", "--emulate=3"}, 2, 0), ElementsAre("argosy", "train", "--emulate=3"));
  EXPECT_THAT(with_devices({"argosy", "run", "--", "x", "--gpus"}, 2, 4),
              ElementsAre("argosy", "run", "--gpus", "2", "--", "x", "--gpus"));
  EXPECT_THAT(with_devices({"argosy", "cluster", "check"}, 2, 4), ElementsAre("argosy", "cluster", "check"));
}

TEST(StreamChoice, ReadsTorchrunsWords) {
  EXPECT_EQ(StreamChoice::parse("--tee", "3")->of(7), 3);
  const auto choice = StreamChoice::parse("--tee", "0:1,1:3");
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->of(0), 1);
  EXPECT_EQ(choice->of(1), 3);
  EXPECT_EQ(choice->of(2), 0);
  for (const char* text : {"4", "x", "0:", "0:4", ":1", "-1"}) {
    EXPECT_EQ(StreamChoice::parse("--tee", text).status().id(), kUsageId) << text;
  }
}

nlohmann::ordered_json error(const char* message, const char* where) {
  return {{"code", "UNAVAILABLE"}, {"id", "ARG-CLUSTER-044"}, {"message", message}, {"where", where}, {"next", "look"}};
}

TEST(ExitFrame, OfAnyAgentIsRead) {
  TaskOutcome outcome;
  ASSERT_TRUE(read_exit(R"({"exit": 137, "signal": 9, "error": {"message": "m", "code": "INTERNAL"}})", outcome));
  EXPECT_EQ(outcome.exit, 137);
  EXPECT_EQ(outcome.signal, 9);
  EXPECT_EQ(outcome.error["message"], "m");
  for (const char* text :
       {R"({"exit": "x", "signal": [9]})", R"({"exit": -1})", R"({"exit": 1e9, "error": 7})", "{}"}) {
    TaskOutcome strange;
    EXPECT_TRUE(read_exit(text, strange)) << text;
    EXPECT_EQ(strange.exit, 1) << text;
    EXPECT_EQ(strange.signal, 0) << text;
    EXPECT_TRUE(strange.error.is_null()) << text;
  }
  for (const std::string& text : {std::string(), std::string("[]"), std::string("7"), std::string(1 << 19, '[')}) {
    EXPECT_FALSE(read_exit(text, outcome)) << text.substr(0, 20);
  }
  const std::string deep =
      R"({"exit": 3, "error": {"message": )" + std::string(1 << 18, '[') + std::string(1 << 18, ']') + "}}";
  ASSERT_TRUE(read_exit(deep, outcome));
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_LT(outcome.error.dump().size(), 100u);
}

TEST(EndOfLaunch, FollowersAreFolded) {
  std::vector<TaskOutcome> tasks = {
      {.rank = 0, .host = "a", .exit = 5, .order = 0, .error = error("task 1 (b) is gone", "task 1 (b)")},
      {.rank = 1, .host = "b", .exit = 137, .signal = 9, .order = 1},
      {.rank = 2, .host = "c", .exit = 5, .order = 2, .error = error("task 1 (b) is gone", "task 1 (b)")}};
  const LaunchEnd end = end_of_launch(tasks, 0);
  EXPECT_EQ(end.exit, kPeerLost);
  EXPECT_EQ(end.cause.message(), "task 1 (b) was ended by signal 9 (SIGKILL); 2 others stopped because of it");
}

TEST(EndOfLaunch, FirstHandErrorIsTold) {
  std::vector<TaskOutcome> tasks = {
      {.rank = 0, .host = "a", .exit = 1, .order = 0, .error = error("nan", "node 'x', task 1 (b)")},
      {.rank = 1, .host = "b", .exit = 1, .order = 1, .error = error("nan", "node 'x', task 1 (b)")}};
  const LaunchEnd end = end_of_launch(tasks, 0);
  EXPECT_EQ(end.exit, 1);
  EXPECT_EQ(end.cause.message(), "nan; 1 other stopped because of it");
  EXPECT_EQ(end.cause.where(), "node 'x', task 1 (b)");
}

TEST(EndOfLaunch, WithoutAnErrorTheLastWordsAreTold) {
  const LaunchEnd end = end_of_launch(
      {{.rank = 0, .host = "a", .exit = 3, .last_words = "one\nno such file\n"}, {.rank = 1, .host = "b"}}, 0);
  EXPECT_EQ(end.exit, 3);
  EXPECT_EQ(end.cause.message(), "task 0 (a) ended with exit code 3, its last words: no such file");
}

TaskOutcome of_agent(int exit, int signal, bool remote, bool answered, const char* words) {
  TaskOutcome outcome{.rank = 1, .host = "gpu-b", .agent_words = words};
  agent_ended(exit, signal, remote, answered, outcome);
  return outcome;
}

TEST(AgentEnded, HostsThatAreNotReachedAreMissing) {
  LaunchEnd end =
      end_of_launch({{.rank = 0}, of_agent(255, 0, true, false, "banner\nssh: gpu-b: Name or service not known\n")}, 0);
  EXPECT_EQ(end.exit, kMissing);
  EXPECT_EQ(end.cause.message(), "host gpu-b is not reached by ssh: ssh: gpu-b: Name or service not known");
  EXPECT_EQ(end.cause.where(), "task 1 (gpu-b)");
  EXPECT_THAT(end.cause.hint(), HasSubstr("ssh -o BatchMode=yes gpu-b true"));
  end = end_of_launch({of_agent(127, 0, true, false, "sh: /opt/argosy: not found\n")}, 0);
  EXPECT_EQ(end.exit, kMissing);
  EXPECT_THAT(end.cause.hint(), HasSubstr("--remote-argosy"));
}

TEST(AgentEnded, ConnectionsThatAreClosedLoseATask) {
  const LaunchEnd end = end_of_launch({of_agent(255, 0, true, true, "Connection to gpu-b closed\n")}, 0);
  EXPECT_EQ(end.exit, kPeerLost);
  EXPECT_THAT(end.cause.message(), HasSubstr("the connection to host gpu-b was closed"));
  EXPECT_EQ(end_of_launch({of_agent(0, 9, true, true, "")}, 0).exit, kPeerLost);
  EXPECT_EQ(of_agent(255, 0, false, false, "").exit, 255);  // no ssh: the program's own
  EXPECT_EQ(of_agent(0, 0, true, false, "").exit, 1);
}

TEST(EndOfLaunch, InterruptedIsNoFailure) {
  const LaunchEnd end =
      end_of_launch({{.rank = 0, .exit = 75, .ended_by_us = true}, {.rank = 1, .exit = 75, .ended_by_us = true}}, 15);
  EXPECT_EQ(end.exit, kInterrupted);
  EXPECT_TRUE(end.cause.ok());
  EXPECT_EQ(end_of_launch({{.rank = 0, .exit = 143, .signal = 15, .ended_by_us = true}}, 15).exit, 143);
  EXPECT_EQ(end_of_launch({{.rank = 0}, {.rank = 1}}, 0).exit, 0);
}

}  // namespace
}  // namespace argosy::cli
