// Every source of a place with damaged values: an error that names what is wrong, or numbers that fit; never a crash.
#include <gtest/gtest.h>

#include <random>

#include "argosy/cluster/environment/find_place.h"
#include "argosy/cluster/environment/host_list.h"

namespace argosy {
namespace {

const EnvironmentMap kSeeds[] = {
    {{"RANK", "3"},
     {"WORLD_SIZE", "4"},
     {"LOCAL_RANK", "1"},
     {"LOCAL_WORLD_SIZE", "2"},
     {"MASTER_ADDR", "gpu-a"},
     {"MASTER_PORT", "29400"},
     {"TORCHELASTIC_RUN_ID", "x"}},
    {{"OMPI_COMM_WORLD_RANK", "1"},
     {"OMPI_COMM_WORLD_SIZE", "2"},
     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
     {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
     {"PMIX_NAMESPACE", "2148532225"}},
    {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_FD", "7"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}},
    {{"SLURM_PROCID", "3"},
     {"SLURM_STEP_NUM_TASKS", "4"},
     {"SLURM_LOCALID", "1"},
     {"SLURM_JOB_ID", "17"},
     {"SLURM_STEP_ID", "0"},
     {"SLURM_STEP_NODELIST", "gpu[01-02,7],x"},
     {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}},
    {{"JOB_COMPLETION_INDEX", "1"}, {"ARGOSY_TASKS", "2"}, {"HOSTNAME", "lenet-1"}, {"ARGOSY_SERVICE", "lenet"}},
    {{"TF_CONFIG", R"({"cluster": {"chief": ["a:1"], "worker": {"0": "b:1", "3": "b:2"}},
                      "task": {"type": "worker", "index": 3}})"}},
    {{"ARGOSY_CLUSTER", R"({"rank": 1, "size": 2, "local_rank": 0, "local_size": 1, "coordinator": ["a:29500"],
                           "hosts": ["a", "b"], "job": "x"})"},
     {"ARGOSY_JOB_TOKEN", "00"},
     {"ARGOSY_COORDINATOR", "[fd00::1]:7"}},
};

std::string mutate(std::string text, std::mt19937_64& random) {
  constexpr std::string_view kPieces[] = {"",  "-1", "0",  "4294967296", "[", "]",   "(x",
                                          ",", ":",  "\"", "{",          "}", "null"};
  for (std::uint64_t i = 0, times = 1 + random() % 3; i < times; ++i) {
    const std::size_t at = text.empty() ? 0 : random() % text.size();
    switch (random() % 4) {
      case 0: text.erase(at, random() % 4); break;
      case 1: text.insert(at, kPieces[random() % std::size(kPieces)]); break;
      case 2:
        if (!text.empty()) text[at] = static_cast<char>(1 + random() % 255);
        break;
      default: text = std::string(kPieces[random() % std::size(kPieces)]); break;
    }
  }
  return text;
}

TEST(EnvironmentMutations, AreErrorsOrFit) {
  const char* const given = std::getenv("ARGOSY_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 34;
  std::mt19937_64 random(seed);
  RecordProperty("seed", std::to_string(seed));
  int errors = 0, places = 0;
  for (int round = 0; round < 40'000; ++round) {
    EnvironmentMap map = kSeeds[random() % std::size(kSeeds)];
    for (auto& [name, value] : map) {
      if (random() % 3 == 0) value = mutate(value, random);
    }
    if (random() % 8 == 0) map.insert(kSeeds[0].begin(), kSeeds[0].end());
    if (random() % 8 == 0) map.erase(std::next(map.begin(), static_cast<long>(random() % map.size())));
    std::erase_if(map, [](const auto& row) { return row.second.empty(); });
    const auto place = find_place(map, {});
    if (place.ok()) {
      ++places;
      ASSERT_GE(place->rank, 0);
      ASSERT_LT(place->rank, place->size);
      ASSERT_LT(place->local_rank, place->local_size);
      ASSERT_TRUE(place->size == 1 || !place->coordinators.empty() || place->exchange != JobPlace::Exchange::kNone);
      ASSERT_TRUE(place->hosts.empty() || static_cast<int>(place->hosts.size()) == place->size);
      (void)describe(*place);
    } else {
      ++errors;
      ASSERT_TRUE(place.status().id().starts_with("ARG-CLUSTER-")) << place.status().to_string();
      ASSERT_FALSE(place.status().where().empty()) << place.status().to_string();
    }
  }
  EXPECT_GT(errors, 1000);
  EXPECT_GT(places, 1000);
}

}  // namespace
}  // namespace argosy
