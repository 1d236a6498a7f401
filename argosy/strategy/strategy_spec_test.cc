#include "argosy/strategy/strategy_spec.h"

#include <gtest/gtest.h>

#include "argosy/strategy/data_parallel/data_parallel.h"

namespace argosy {
namespace {

StrategySpec parsed(std::string_view text) {
  Result<StrategySpec> spec = StrategySpec::parse(text);
  EXPECT_TRUE(spec.ok()) << text << ": " << spec.status().to_string();
  return spec.ok() ? *spec : StrategySpec{.dp = -1};
}

TEST(StrategySpec, ReadsEveryKeyInAnyOrder) {
  EXPECT_EQ(parsed("dp"), StrategySpec{});
  EXPECT_EQ(parsed("dp=2"), (StrategySpec{.dp = 2}));
  EXPECT_EQ(parsed("dp,accumulate=4"), (StrategySpec{.accumulate = 4}));
  EXPECT_EQ(parsed("dp=4,zero=1,accumulate=2"), (StrategySpec{.dp = 4, .accumulate = 2, .zero = 1}));
  EXPECT_EQ(parsed("zero=1,dp"), (StrategySpec{.zero = 1}));
  EXPECT_EQ(parsed(" dp = 2 , zero = 0 "), (StrategySpec{.dp = 2}));
  EXPECT_EQ(parsed("auto"), (StrategySpec{.automatic = true}));
  EXPECT_EQ(parsed("@runs/plan.json"), (StrategySpec{.file = "runs/plan.json"}));
}

TEST(StrategySpec, ItsTextReadsBackAsItself) {
  for (const int dp : {0, 1, 3, 1024}) {
    for (const int accumulate : {1, 2, kMostMicroBatches}) {
      for (const int zero : {0, 1}) {
        const StrategySpec spec{.dp = dp, .accumulate = accumulate, .zero = zero};
        EXPECT_EQ(parsed(spec.to_string()), spec) << spec.to_string();
      }
    }
  }
  EXPECT_EQ(parsed("auto").to_string(), "auto");
  EXPECT_EQ(parsed("@a,b=c").to_string(), "@a,b=c");
  EXPECT_EQ(StrategySpec{}.to_string(), "dp");
}

struct Bad {
  const char* text;
  const char* says;  // a part of the message
  const char* type;  // the whole hint
};

class BadStrategy : public testing::TestWithParam<Bad> {};

TEST_P(BadStrategy, SaysWhatIsWrongAndWhatToType) {
  const auto& [text, says, type] = GetParam();
  const Result<StrategySpec> spec = StrategySpec::parse(text);
  ASSERT_FALSE(spec.ok()) << text << " was read as " << spec->to_string();
  EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(spec.status().id(), "ARG-SHARD-001");
  EXPECT_NE(spec.status().message().find(says), std::string::npos) << spec.status().message();
  EXPECT_EQ(spec.status().message().find('\n'), std::string::npos);
  EXPECT_EQ(spec.status().hint(), type);
  // What it tells to type is right.
  EXPECT_TRUE(StrategySpec::parse(std::string_view(type).substr(sizeof("--strategy ") - 1)).ok()) << type;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadStrategy,
    testing::Values(
        Bad{"", "it is empty", "--strategy dp"}, Bad{"  ", "it is empty", "--strategy dp"},
        Bad{"@", "no file", "--strategy @plan.json"}, Bad{",", "between two commas", "--strategy dp,zero=1"},
        Bad{"dp,", "at an end", "--strategy dp,zero=1"}, Bad{",dp", "at an end", "--strategy dp,zero=1"},
        Bad{"dp,,zero=1", "between two commas", "--strategy dp,zero=1"},
        Bad{"pd", "\"pd\" is none of dp, accumulate, zero", "--strategy dp"},
        Bad{"dp,zro=1", "\"zro\" is none of", "--strategy dp,zero=1"},
        Bad{"dp,acumulate=2", "\"acumulate\" is none of", "--strategy dp,accumulate=4"},
        Bad{"atuo", "\"atuo\" is none of", "--strategy auto"}, Bad{"DP", "\"DP\" is none of", "--strategy dp"},
        Bad{"pipeline=4", "\"pipeline\" is none of", "--strategy dp"}, Bad{"=2", "\"\" is none of", "--strategy dp"},
        Bad{"auto,zero=1", "stands alone", "--strategy auto"},
        Bad{"dp,@plan.json", "stands alone", "--strategy @plan.json"},
        Bad{"dp=", "dp=\"\" is no whole number", "--strategy dp"},
        Bad{"dp=two", "dp=\"two\" is no whole number", "--strategy dp"},
        Bad{"dp=2.0", "is no whole number", "--strategy dp"}, Bad{"dp=+2", "is no whole number", "--strategy dp"},
        Bad{"dp=0x2", "is no whole number", "--strategy dp"}, Bad{"dp=2=2", "is no whole number", "--strategy dp"},
        Bad{"dp=99999999999999999999", "is no whole number", "--strategy dp"},
        Bad{"dp=0", "dp=0 is not from 1 to 1024", "--strategy dp"},
        Bad{"dp=-1", "dp=-1 is not from 1", "--strategy dp"}, Bad{"dp=1025", "dp=1025 is not from 1", "--strategy dp"},
        Bad{"dp=4294967297", "is not from 1", "--strategy dp"},
        Bad{"accumulate", "accumulate wants a number", "--strategy dp,accumulate=4"},
        Bad{"dp,accumulate=65", "accumulate=65 is not from 1 to 64", "--strategy dp,accumulate=4"},
        Bad{"dp,accumulate=0", "accumulate=0 is not from 1", "--strategy dp,accumulate=4"},
        Bad{"zero", "zero wants a number", "--strategy dp,zero=1"},
        Bad{"dp,zero=2", "zero=2 is not from 0 to 1", "--strategy dp,zero=1"},
        Bad{"dp,zero=-1", "zero=-1 is not from 0 to 1", "--strategy dp,zero=1"},
        Bad{"dp,dp", "dp is given twice", "--strategy dp"},
        Bad{"dp=2,zero=1,dp=2", "dp is given twice", "--strategy dp"},
        Bad{"zero=1,zero=0", "zero is given twice", "--strategy dp,zero=1"}));

TEST(StrategySpec, CheckComparesWithDevices) {
  EXPECT_TRUE(parsed("dp").check(4).ok());
  EXPECT_TRUE(parsed("dp=2").check(2).ok());
  EXPECT_TRUE(parsed("dp,zero=1").check(1).ok());
  EXPECT_TRUE(parsed("auto").check(3).ok());
  EXPECT_TRUE(parsed("@a").check(3).ok());
  const auto error = [](std::string_view text, int devices) {
    Status status = parsed(text).check(devices);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_EQ(status.id(), "ARG-SHARD-002") << text;
    return str_cat(status.message(), " | ", status.hint());
  };
  EXPECT_EQ(error("dp=3", 2),
            "the strategy \"dp=3\" is for 3 devices, and the step has 2 | --strategy dp=2, or 3 devices");
  EXPECT_EQ(error("dp=1,zero=1", 2),
            "the strategy \"dp=1,zero=1\" is for 1 device, and the step has 2 | --strategy dp=2,zero=1, or 1 device");
}

TEST(StrategySpec, EmptyMicroBatchesAreTold) {
  const auto told = [](std::string_view text, int devices, std::int64_t batch) {
    return parsed(text).empty_micro_batches(devices, batch);
  };
  EXPECT_EQ(told("dp,accumulate=4", 2, 8), "");
  EXPECT_EQ(told("dp", 4, 3), "");  // micro-batches are not asked for
  EXPECT_EQ(told("auto", 3, 1), "");
  EXPECT_EQ(told("dp,accumulate=4", 2, 0), "");  // the batch is not known
  EXPECT_EQ(told("dp,accumulate=8", 2, 10),
            "6 of 16 micro-batches are empty, a batch has 10 examples: --strategy dp,accumulate=5 waits less");
  EXPECT_EQ(told("dp,accumulate=2", 1, 1),
            "1 of 2 micro-batches are empty, a batch has 1 example: --strategy dp waits less");
}

}  // namespace
}  // namespace argosy
