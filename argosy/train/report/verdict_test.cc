// Verdicts of made-up measurements: clean ones say what was gained and what would help, noisy and contradictory ones
// say why they say nothing, and give no advice.
#include "argosy/train/report/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace argosy {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr CoreUse kQuiet{.own = 1.9, .others = 0.05, .delayed = 0.2};  // own threads may wait for each other
constexpr CoreUse kContended{.own = 1.1, .others = 0.9, .delayed = 0.8};

InterleavedRates rounds(std::vector<double> one, std::vector<double> many, CoreUse use = kQuiet) {
  return {.one = std::move(one), .many = std::move(many), .use = use, .cores = 2, .seconds = 0.5};
}

const InterleavedRates kClean =
    rounds({1000, 1010, 990, 1005, 995, 700, 1002}, {1900, 1920, 1890, 1905, 1895, 1901, 2400});

ScalingVerdict verdict_of(const InterleavedRates& measured, double run) {
  ScalingVerdict v{.devices = 2,
                   .batch = 64,
                   .samples_per_second = run,
                   .interleaved = compare(measured, 2),
                   .ideal = 2,
                   .breakdown = {.compute = 0.97, .overhead = 0.03},
                   .use = kQuiet,
                   .cores = 2,
                   .seconds = 10};
  conclude(v, 0, 1);
  return v;
}

void expect_silence(const ScalingVerdict& v, const std::string& why) {
  EXPECT_THAT(v.not_measured, HasSubstr(why));
  EXPECT_TRUE(std::isnan(v.speedup()));
  EXPECT_TRUE(std::isnan(v.efficiency()));
  EXPECT_EQ(v.advice, "");
  const std::string text = v.to_string();
  EXPECT_THAT(text, HasSubstr("not measured: "));
  EXPECT_THAT(text, HasSubstr(why));
  EXPECT_THAT(text, Not(HasSubstr("efficiency")));
  EXPECT_THAT(text, Not(HasSubstr("try ")));
}

TEST(RangeOf, LeavesOutTheEndsOfFiveAndMore) {
  const Range few = range_of({3, 1, 2});
  EXPECT_EQ(few.low, 1);
  EXPECT_EQ(few.middle, 2);
  EXPECT_EQ(few.high, 3);
  const Range many = range_of({100, 3, 1, 2, 4});
  EXPECT_EQ(many.low, 2);
  EXPECT_EQ(many.middle, 3);
  EXPECT_EQ(many.high, 4);
  EXPECT_EQ(range_of({}).spread(), 0);
}

TEST(Verdict, OfACleanMeasurementHasItsSpread) {
  const ScalingVerdict v = verdict_of(kClean, 1880);
  EXPECT_EQ(v.not_measured, "");
  EXPECT_NEAR(v.speedup(), 1.9, 0.01);
  EXPECT_EQ(v.bound, "compute");
  EXPECT_EQ(v.predicted_gain, 1);
  EXPECT_THAT(v.advice, StartsWith("nothing"));
  EXPECT_THAT(v.to_string(),
              HasSubstr("1 device 1000 (990 to 1005), 2 devices 1901 (1895 to 1920) in 7 rounds: 1.90x"));
  EXPECT_THAT(v.to_string(), HasSubstr("of 2.00x, efficiency 95 %"));
}

TEST(Verdict, OfEmulatedGpusIsAboutCores) {
  ScalingVerdict v = verdict_of(kClean, 1850);
  v.emulated = true;
  EXPECT_THAT(v.to_string(), HasSubstr("share this machine's 2 cores: 1.90x is what the cores gave"));
  EXPECT_THAT(v.to_string(), Not(HasSubstr("efficiency")));
}

TEST(Verdict, SaysNothingWhereOthersTookTheCores) {
  expect_silence(verdict_of(rounds(kClean.one, kClean.many, kContended), 1880), "other programs took 0.90 of 2 cores");
  ScalingVerdict v = verdict_of(kClean, 1880);
  v.use = kContended;
  conclude(v, 0, 1);
  expect_silence(v, "other programs took 0.90 of 2 cores during the run");
  // Of one device, too: where its time went is not known then.
  ScalingVerdict one{
      .samples_per_second = 10, .breakdown = {.compute = 1}, .use = kContended, .cores = 2, .seconds = 9};
  conclude(one, 0, 1);
  EXPECT_EQ(one.advice, "");
  EXPECT_EQ(one.speedup(), 1);
  EXPECT_THAT(one.to_string(), HasSubstr("not measured: other programs"));
}

TEST(Verdict, OthersThatDoNotDisturbAreNotTold) {
  EXPECT_EQ(disturbed({.own = 1, .others = 0.9, .delayed = 0.01}, 2, 10), "");  // on cores that we do not want
  EXPECT_EQ(disturbed({.own = 60, .others = 1, .delayed = 5}, 64, 10), "");     // one core of many
  EXPECT_EQ(disturbed(kContended, 2, 0.02), "");                                // two ticks of the clock
  EXPECT_NE(disturbed(kContended, 2, 0.2), "");
}

// As it was seen on a busy machine: 5.15x of 2.00x, efficiency 257 %.
TEST(Verdict, SaysNothingOfMoreThanTheDevicesCanDo) {
  const InterleavedRates beyond = rounds({200, 205, 195, 201, 199}, {1030, 1025, 1035, 1028, 1031});
  expect_silence(verdict_of(beyond, 1030), "rounds say 5.11x to 5.18x, and 2.00x is the most there can be");
  // Within its spread it may lie above.
  const InterleavedRates near = rounds({1000, 1010, 990, 1005, 995}, {2030, 1990, 2040, 1980, 2020});
  EXPECT_EQ(verdict_of(near, 2000).not_measured, "");
}

TEST(Verdict, SaysNothingOfRoundsThatLieFarApart) {
  const InterleavedRates noisy_one = rounds({1000, 500, 990, 400, 995}, {1900, 1920, 1890, 1905, 1895});
  expect_silence(verdict_of(noisy_one, 1880), "one device made 500 to 995 a second");
  const InterleavedRates noisy_many = rounds({1000, 1010, 990, 1005, 995}, {1900, 900, 1890, 800, 1895});
  expect_silence(verdict_of(noisy_many, 1880), "all devices made 900 to 1895 a second");
  // Each side is steady enough, but not the two beside each other.
  const InterleavedRates apart = rounds({1000, 1250, 1000, 1250, 1000, 1250}, {1900, 1500, 1900, 1500, 1900, 1500});
  expect_silence(verdict_of(apart, 1700), "they say 1.20x to 1.90x");
  expect_silence(verdict_of(rounds({1000, 1000}, {1900, 1900}), 1880), "only 2 rounds");
}

TEST(Verdict, SaysNothingWhereTheRunContradictsIt) {
  expect_silence(verdict_of(kClean, 2500), "the run made 2500 samples/s, the same steps after it at most 1920");
  expect_silence(verdict_of(kClean, 600), "and one device 1000 (990 to 1005)");
  // A run that waited for its input is slower for a reason.
  ScalingVerdict starved = verdict_of(kClean, 1880);
  starved.samples_per_second = 600;
  starved.breakdown = {.compute = 0.3, .input = 0.7};
  conclude(starved, 0, 2);
  EXPECT_EQ(starved.not_measured, "");
  EXPECT_THAT(starved.advice, StartsWith("--input-threads 4"));
}

TEST(Verdict, AdvisesOneDeviceOnlyWhereItWasFasterInAllRounds) {
  const TimeBreakdown waiting{.compute = 0.3, .all_reduce = 0.21, .input = 0.02, .copies = 0, .overhead = 0.47};
  ScalingVerdict slow = verdict_of(rounds({1090, 1100, 1080}, {1000, 1005, 995}), 1000);
  slow.breakdown = waiting;
  conclude(slow, 0, 1);
  EXPECT_EQ(slow.bound, "overhead");
  EXPECT_THAT(slow.advice, StartsWith("--devices 1 (measured 1.09x of now)"));
  EXPECT_GT(slow.predicted_gain, 1);
  ScalingVerdict alike = verdict_of(rounds({1000, 1100, 1050}, {1050, 1050, 1050}), 1050);
  alike.breakdown = waiting;
  conclude(alike, 0, 1);
  EXPECT_THAT(alike.advice, StartsWith("--batch 128"));
}

TEST(Verdict, PredictsTwiceAndHalfTheHosts) {
  ScalingVerdict v{.devices = 4, .tasks = 2, .samples_per_second = 1000};
  EXPECT_TRUE(std::isnan(v.on_tasks(4))) << "no step was sampled";
  v.breakdown = {.compute = 0.8, .all_reduce = 0.1, .input = 0.05, .overhead = 0.05};
  EXPECT_DOUBLE_EQ(v.on_tasks(2), 1);
  EXPECT_DOUBLE_EQ(v.on_tasks(4), 1 / (0.425 + 0.15 + 0.05));
  EXPECT_DOUBLE_EQ(v.on_tasks(1), 1 / (1.7 + 0.05));
  v.not_measured = "one task";
  EXPECT_NE(
      v.to_string().find("2 tasks: 10 % of a step waits for sums; 4 tasks would give 1.60x, 1 task 0.57x (predicted)"),
      std::string::npos)
      << v.to_string();
}

TEST(Verdict, NamesTheBoundAndWhatToChange) {
  ScalingVerdict short_run{.devices = 1, .batch = 64, .samples_per_second = 1000};
  conclude(short_run, 0, 1);
  EXPECT_EQ(short_run.bound, "unknown");
  EXPECT_THAT(short_run.advice, StartsWith("--steps"));
  EXPECT_THAT(short_run.to_string(), Not(HasSubstr("compute")));

  ScalingVerdict full = verdict_of(kClean, 1880);
  full.breakdown = {.compute = 0.5, .overhead = 0.5};
  conclude(full, 64, 1);
  EXPECT_THAT(full.advice, HasSubstr("does not fit"));

  // Not compared, for a reason that says nothing against the run: advice as ever.
  ScalingVerdict alone{.devices = 2,
                       .batch = 64,
                       .samples_per_second = 1880,
                       .ideal = 2,
                       .breakdown = {.compute = 0.97, .overhead = 0.03},
                       .not_measured = "one device was not to be measured (--no-verdict)"};
  conclude(alone, 0, 1);
  EXPECT_THAT(alone.advice, StartsWith("nothing"));
  EXPECT_TRUE(std::isnan(alone.speedup()));
  EXPECT_THAT(alone.to_string(), HasSubstr("--no-verdict"));
}

// Who waits least is waited for, where the others wait much longer.
TEST(Verdict, NamesTheTaskThatTheOthersWaitFor) {
  ScalingVerdict v{.devices = 3, .tasks = 3, .on_network = {0.20, 0.04, 0.18}};
  EXPECT_EQ(v.straggler(), 1);
  EXPECT_THAT(v.to_string(), HasSubstr("waits   for task 1, which is on the network 4 % of the time, the others 19 %"));
  v.on_network = {0.20, 0.12, 0.18};
  EXPECT_EQ(v.straggler(), -1);
  EXPECT_THAT(v.to_string(), Not(HasSubstr("waits ")));
  v.on_network = {};
  EXPECT_EQ(v.straggler(), -1);
}

}  // namespace
}  // namespace argosy
