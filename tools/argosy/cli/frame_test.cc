// The smaller parts of the frame: exit codes, tables, progress, interrupts, colours.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/interrupt.h"
#include "tools/argosy/cli/progress.h"
#include "tools/argosy/cli/table.h"

namespace argosy::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExitCode, FollowsTheTable) {
  EXPECT_EQ(exit_code(ok_status()), 0);
  EXPECT_EQ(exit_code(internal_error("x")), 1);
  EXPECT_EQ(exit_code(invalid_argument("x")), 2);
  EXPECT_EQ(exit_code(invalid_argument("x").with_where("node 'a' (MatMul)")), 1);
  EXPECT_EQ(exit_code(not_found("x")), 3);
  EXPECT_EQ(exit_code(not_found("x").with_where("node 'a' (ReadFile)")), 1);
  EXPECT_EQ(exit_code(resource_exhausted("x")), 4);
  EXPECT_EQ(exit_code(resource_exhausted("x").with_where("node 'a'")), 4);
  EXPECT_EQ(exit_code(resource_exhausted("disk").with_id("ARG-FILE-001")), 3);
  EXPECT_EQ(exit_code(resource_exhausted("disk").with_id("ARG-CKPT-010")), 3);
  EXPECT_EQ(exit_code(aborted("in use").with_id("ARG-CKPT-012")), 3);
  EXPECT_EQ(exit_code(aborted("the loss is not finite").with_id("ARG-TRAIN-001")), 1);
  EXPECT_EQ(exit_code(unavailable("x")), 5);
  EXPECT_EQ(exit_code(data_loss("x")), 6);
}

TEST(Table, AlignsNumbersRightAndWordsLeft) {
  EXPECT_EQ(format_table({{"name", "bytes", "dtype"}, {"w", "1,024", "float"}, {"größe", "7", "int64"}}),
            "name   bytes  dtype\n"
            "w      1,024  float\n"
            "größe      7  int64\n");
  EXPECT_EQ(format_table({}), "");
}

class FakeClock : public Clock {
 public:
  std::int64_t now_nanos() const override { return now; }
  void pass(double seconds) { now += static_cast<std::int64_t>(seconds * 1e9); }
  std::int64_t now = 0;
};

struct Shown {
  FakeClock clock;
  std::vector<std::string> lines;
  Progress::Sink sink() {
    return [this](std::string_view text) { lines.emplace_back(text); };
  }
};

TEST(Progress, WritesALineNowAndThenOffATerminal) {
  Shown shown;
  Progress progress({.label = "train", .total = 100}, shown.sink(), shown.clock);
  progress.update(0, "loss 2.5");
  EXPECT_TRUE(shown.lines.empty());
  for (int step = 1; step <= 60; ++step) {
    shown.clock.pass(0.2);
    progress.update(step, "loss 1.5");
  }
  progress.finish();
  // 12 s of steps, a line every 5 s; 75 steps are left at 0.2 s each.
  EXPECT_THAT(shown.lines,
              ElementsAre("train 25/100  25%  ETA 0:15  loss 1.5\n", "train 50/100  50%  ETA 0:10  loss 1.5\n"));
}

TEST(Progress, DrawsInPlaceAndCleansUpOnATerminal) {
  Shown shown;
  Progress progress({.label = "train", .total = 10, .draws = true, .width = 60}, shown.sink(), shown.clock);
  progress.update(0);
  shown.clock.pass(0.01);
  progress.update(1);  // too soon to be worth a draw
  shown.clock.pass(1);
  progress.update(5, "loss 0.123456789012345678901234567890");
  progress.note("checkpoint written");
  progress.finish();
  ASSERT_EQ(shown.lines.size(), 5u);
  EXPECT_THAT(shown.lines[0], HasSubstr("train 0/10 [--------------------]  0%"));
  EXPECT_THAT(shown.lines[1], HasSubstr("[##########----------]  50%  ETA 0:01  loss"));
  EXPECT_EQ(shown.lines[1].size(), 59 + std::string("\r\x1b[K").size());
  EXPECT_EQ(shown.lines[2], "\r\x1b[Kcheckpoint written\n");
  EXPECT_EQ(shown.lines[4], "\r\x1b[K");
}

TEST(Progress, AResumedRunDoesNotCountWhatItDidNotDo) {
  Shown shown;
  Progress progress({.label = "train", .total = 100}, shown.sink(), shown.clock);
  progress.update(80);
  shown.clock.pass(10);
  progress.update(90);
  EXPECT_THAT(shown.lines, ElementsAre("train 90/100  90%  ETA 0:10\n"));
}

TEST(Progress, FormatsTimesAndRates) {
  EXPECT_EQ(format_duration(75), "1:15");
  EXPECT_EQ(format_duration(3725), "1:02:05");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_rate(1184.3), "1,184");
  EXPECT_EQ(format_rate(1234567), "1,234,567");
  EXPECT_EQ(format_rate(17.23), "17.2");
}

TEST(Interrupt, TheFirstSignalAsks) {
  Interrupt interrupt("stopping");
  EXPECT_FALSE(interrupt.requested());
  std::raise(SIGTERM);
  EXPECT_TRUE(interrupt.requested());
  EXPECT_EQ(interrupt.signal(), SIGTERM);
}

TEST(InterruptDeathTest, TheSecondEndsAtOnce) {
  EXPECT_EXIT(
      {
        Interrupt interrupt("once more to stop at once");
        std::raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        std::raise(SIGINT);
      },
      ::testing::ExitedWithCode(130), "once more to stop at once");
}

// Issue 31: timeout's SIGTERM to the process and to its group ended a run without its checkpoint.
TEST(Interrupt, SignalsAtTheSameTimeAreOne) {
  Interrupt interrupt("stopping");
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  std::raise(SIGINT);
  EXPECT_EQ(interrupt.signal(), SIGTERM);
}

TEST(InterruptDeathTest, ThePreviousHandlingReturns) {
  EXPECT_EXIT(
      {
        { Interrupt interrupt("stopping"); }
        std::raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(Console, ColoursFollowTheWish) {
  EXPECT_EQ(Console({.color = "always"}).on_stdout(Style::kRed, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Console({.color = "never"}).on_stdout(Style::kRed, "x"), "x");
  setenv("FORCE_COLOR", "1", 1);
  EXPECT_EQ(Console().on_stderr(Style::kBold, "x"), "\x1b[1mx\x1b[0m");
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(Console().on_stderr(Style::kBold, "x"), "x");
  unsetenv("FORCE_COLOR");
  unsetenv("NO_COLOR");
}

}  // namespace
}  // namespace argosy::cli
