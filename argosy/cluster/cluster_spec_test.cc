#include "argosy/cluster/cluster_spec.h"

#include <gtest/gtest.h>

#include <random>

#include "argosy/base/system/test_files.h"

namespace argosy {
namespace {

constexpr const char* kPsAndWorkers = R"({"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]})";

ClusterSpec parsed(std::string_view json) {
  auto spec = ClusterSpec::parse(json);
  EXPECT_TRUE(spec.ok()) << spec.status().to_string();
  return spec.ok() ? *spec : ClusterSpec();
}

TEST(ClusterSpec, ListsAndNumbers) {
  const ClusterSpec spec = parsed(kPsAndWorkers);
  ASSERT_EQ(spec.tasks(), (std::vector<TaskName>{{"ps", 0}, {"worker", 0}, {"worker", 1}}));
  EXPECT_EQ(*spec.address({"worker", 1}), "c:2222");
  EXPECT_EQ(spec.address({"worker", 2}), nullptr);
  EXPECT_EQ(spec.address({"chief", 0}), nullptr);
  EXPECT_EQ(parsed(R"({"ps": {"0": "a:2222"}, "worker": {"1": "c:2222", "0": "b:2222"}})"), spec);
  const ClusterSpec sparse = parsed(R"({"worker": {"3": "b:1", "10": "[::1]:2"}})");
  EXPECT_EQ(sparse.tasks(), (std::vector<TaskName>{{"worker", 3}, {"worker", 10}}));
  EXPECT_EQ((TaskName{"worker", 3}).to_string(), "/job:worker/replica:0/task:3");
}

TEST(ClusterSpec, TextReadsBackEqual) {
  for (const char* json : {kPsAndWorkers, R"({"worker": {"3": "b:1", "10": "[::1]:2"}})", R"({"a": ["x:65535"]})"}) {
    const ClusterSpec spec = parsed(json);
    EXPECT_EQ(parsed(spec.to_json()), spec) << spec.to_json();
  }
}

TEST(ClusterSpec, TfConfigIsUnderstood) {
  const auto config = TfConfig::parse(
      R"({"cluster": {"chief": ["h:1"], "ps": ["h:2"]}, "task": {"type": "ps", "index": 0}, "environment": "cloud"})");
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(config->task, (TaskName{"ps", 0}));
  EXPECT_EQ(*config->cluster.address({"chief", 0}), "h:1");
  EXPECT_EQ(parsed(R"({"cluster": {"chief": ["h:1"]}, "task": {"type": "chief"}})").tasks().size(), 1u);
  // A job may be called so.
  EXPECT_EQ(parsed(R"({"cluster": {"0": "h:1"}})").tasks(), (std::vector<TaskName>{{"cluster", 0}}));
  const auto text = TfConfig::parse(R"({"cluster": {"a": ["h:1"]}, "task": {"type": "a", "index": "1"}})");
  EXPECT_EQ(text->task, (TaskName{"a", 1}));
  EXPECT_EQ(TfConfig::parse(R"({"cluster": {"a": ["h:1"]}})")->task, std::nullopt);
}

// A program runs alone then.
TEST(ClusterSpec, TfConfigNeedNotHaveACluster) {
  for (const char* json :
       {"{}", R"({"cluster": {}})", R"({"cluster": null})", R"({"environment": "cloud"})",
        R"({"cluster": {}, "task": {"type": "worker", "index": 0}})", R"({"task": {"type": "worker", "index": 0}})"}) {
    const auto config = TfConfig::parse(json);
    ASSERT_TRUE(config.ok()) << json << ": " << config.status().to_string();
    EXPECT_TRUE(config->cluster.jobs.empty()) << json;
  }
}

TEST(ClusterSpec, FileIsNamedInTheError) {
  const TempDirectory folder;
  folder.write("good.json", kPsAndWorkers);
  folder.write("bad.json", R"({"ps": ["a"]})");
  const auto good = ClusterSpec::read("@" + folder.path("good.json"));
  ASSERT_TRUE(good.ok()) << good.status().to_string();
  EXPECT_EQ(*good, parsed(kPsAndWorkers));
  const Status bad = ClusterSpec::read("@" + folder.path("bad.json")).status();
  EXPECT_EQ(bad.id(), "ARG-CLUSTER-001");
  EXPECT_EQ(bad.where(), folder.path("bad.json"));
  EXPECT_EQ(ClusterSpec::read("@" + folder.path("none.json")).status().code(), Code::kNotFound);
}

TEST(ClusterSpec, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no JSON: at byte"},
      {"[1]", "wanted an object of jobs, this is [1]"},
      {"{}", "wanted an object of jobs"},
      {R"({"ps": ["a:1"])", "no JSON: at byte"},
      {R"({"ps": []})", "job \"ps\" is [], wanted a list"},
      {R"({"ps": {}})", "job \"ps\" is {}, wanted a list"},
      {R"({"ps": "a:1"})", "job \"ps\" is \"a:1\", wanted a list"},
      {R"({"p s": ["a:1"]})", "job \"p s\""},
      {R"({"": ["a:1"]})", "job \"\""},
      {R"({"ps": ["a"]})", "the address of /job:ps/replica:0/task:0 is \"a\""},
      {R"({"ps": ["a:0"]})", "is \"a:0\""},
      {R"({"ps": ["a:65536"]})", "is \"a:65536\""},
      {R"({"ps": [":1"]})", "is \":1\""},
      {R"({"ps": ["a:1:2"]})", "is \"a:1:2\""},
      {R"({"ps": ["a b:1"]})", "is \"a b:1\""},
      {R"({"ps": ["grpc://a:1"]})", "is \"grpc://a:1\""},
      {R"({"ps": [7]})", "is 7, wanted \"host:port\""},
      {R"({"ps": {"x": "a:1"}})", "\"x\" is no number of a task"},
      {R"({"ps": {"-1": "a:1"}})", "\"-1\" is no number of a task"},
      {R"({"ps": {"01": "a:1"}})", "\"01\" is no number of a task"},
      {R"({"ps": {"9999999999": "a:1"}})", "\"9999999999\" is no number of a task"},
      {R"({"ps": ["a:1"], "ps": ["b:1"]})", "key \"ps\" is there twice"},
      {R"({"ps": ["a:1"], "worker": ["b:1", "a:1"]})",
       "address a:1 is that of /job:ps/replica:0/task:0 and of /job:worker/replica:0/task:1"},
  };
  for (const auto& [json, expected] : cases) {
    const Status status = ClusterSpec::parse(json).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << json;
    EXPECT_EQ(status.id(), "ARG-CLUSTER-001") << json;
    EXPECT_NE(status.message().find(expected), std::string::npos) << json << ": " << status.to_string();
  }
  EXPECT_FALSE(TfConfig::parse(R"({"ps": ["a:1"]})").ok());
  EXPECT_FALSE(TfConfig::parse(R"({"cluster": []})").ok());
  EXPECT_FALSE(TfConfig::parse(R"({"cluster": {"ps": []}})").ok());
  EXPECT_FALSE(TfConfig::parse(R"({"cluster": {"a": ["h:1"]}, "task": 3})").ok());
  EXPECT_FALSE(TfConfig::parse(R"({"cluster": {"a": ["h:1"]}, "task": {"type": "a", "index": -1}})").ok());
  EXPECT_FALSE(TfConfig::parse(R"({"cluster": {"a": ["h:1"]}, "task": {"type": 7}})").ok());
}

// Whatever arrives: an error of ours, or a spec that reads back equal.
TEST(ClusterSpec, MutantsAreErrorsOrSpecs) {
  std::mt19937_64 random(7);
  const std::string seeds[] = {kPsAndWorkers, R"({"worker": {"3": "b:1", "10": "[::1]:2"}})",
                               R"({"cluster": {"chief": ["h:1"], "ps": ["h:2"]}, "task": {"type": "ps", "index": 0}})"};
  const std::string alphabet = "{}[]\",:0123456789abps \\u\xff\x01-.e";
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text = seeds[random() % std::size(seeds)];
    for (std::uint64_t change = 1 + random() % 4; change > 0; --change) {
      const std::size_t at = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0: text.insert(at, 1, alphabet[random() % alphabet.size()]); break;
        case 1: text.erase(at, 1 + random() % 3); break;
        case 2: text.insert(at, text.substr(random() % text.size(), random() % 20)); break;
        default:
          if (at < text.size()) text[at] = alphabet[random() % alphabet.size()];
      }
      if (text.empty()) text = "{";
    }
    (void)TfConfig::parse(text);
    const auto spec = ClusterSpec::parse(text);
    if (!spec.ok()) {
      ASSERT_EQ(spec.status().id(), "ARG-CLUSTER-001") << text;
      continue;
    }
    ++accepted;
    const auto again = ClusterSpec::parse(spec->to_json());
    ASSERT_TRUE(again.ok()) << text << ": " << again.status().to_string();
    ASSERT_EQ(*again, *spec) << text;
  }
  EXPECT_GT(accepted, 500);
}

TEST(ClusterSpec, DeepNestingIsRefused) {
  const Status status = ClusterSpec::parse(R"({"ps": )" + std::string(100'000, '[')).status();
  EXPECT_EQ(status.id(), "ARG-CLUSTER-001");
}

}  // namespace
}  // namespace argosy
