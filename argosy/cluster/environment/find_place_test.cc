// What each launcher sets, as it was read off real ones, and every way in which such variables can be wrong.
#include "argosy/cluster/environment/find_place.h"

#include <gmock/gmock.h>

#include "argosy/cluster/environment/variables.h"

namespace argosy {
namespace {

using testing::HasSubstr;

struct Right {
  const char* name;
  EnvironmentMap environment;
  int rank, size, local_rank, local_size;
  const char* coordinator;  // the first, or ""
  const char* source;       // part of it
};

const EnvironmentMap kTorchrun = {{"RANK", "3"},
                                  {"WORLD_SIZE", "4"},
                                  {"LOCAL_RANK", "1"},
                                  {"LOCAL_WORLD_SIZE", "2"},
                                  {"MASTER_ADDR", "gpu-a"},
                                  {"MASTER_PORT", "29400"}};
const EnvironmentMap kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                                 {"OMPI_COMM_WORLD_SIZE", "2"},
                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                 {"PMIX_NAMESPACE", "2148532225"}};
const EnvironmentMap kHydra = {
    {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_FD", "7"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
const EnvironmentMap kSlurm = {{"SLURM_PROCID", "3"},
                               {"SLURM_STEP_NUM_TASKS", "4"},
                               {"SLURM_NTASKS", "4"},
                               {"SLURM_LOCALID", "1"},
                               {"SLURM_JOB_ID", "17"},
                               {"SLURM_STEP_ID", "0"},
                               {"SLURM_STEP_NODELIST", "gpu[01-02]"},
                               {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}};
const EnvironmentMap kKubernetes = {
    {"JOB_COMPLETION_INDEX", "1"}, {"ARGOSY_TASKS", "2"}, {"HOSTNAME", "lenet-1"}, {"ARGOSY_SERVICE", "lenet"}};
const EnvironmentMap kTfConfig = {
    {"TF_CONFIG", R"({"cluster": {"chief": ["a:1"], "worker": ["b:1", "b:2"], "ps": ["c:1"]},
                      "task": {"type": "worker", "index": 1}})"}};
const EnvironmentMap kArgosy = {{"ARGOSY_CLUSTER", R"({"rank": 1, "size": 2, "coordinator": ["a:29500", "a:29501"],
                                                       "hosts": ["a", "b"], "job": "x"})"}};

EnvironmentMap with(EnvironmentMap map, const EnvironmentMap& more) {
  for (const auto& [name, value] : more) map[name] = value;
  std::erase_if(map, [](const auto& row) { return row.second.empty(); });
  return map;
}

TEST(FindPlace, ReadsEveryLauncher) {
  const Right rows[] = {
      {"alone", {{"HOME", "/root"}}, 0, 1, 0, 1, "", ""},
      {"torchrun", kTorchrun, 3, 4, 1, 2, "gpu-a:29400", "WORLD_SIZE"},
      {"torchrun of one", {{"RANK", "0"}, {"WORLD_SIZE", "1"}}, 0, 1, 0, 1, "", "WORLD_SIZE"},
      {"Open MPI", kOpenMpi, 1, 2, 1, 2, "127.0.0.1:", "OMPI_COMM_WORLD"},
      {"Open MPI on hosts", with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}),
       1, 2, 0, 1, "", "OMPI_COMM_WORLD"},
      {"MPICH", kHydra, 1, 2, 1, 2, "", "PMI_RANK"},
      {"Slurm", kSlurm, 3, 4, 1, 2, "gpu01:", "SLURM_PROCID"},
      {"Slurm on a host",
       with(kSlurm, {{"SLURM_STEP_NODELIST", "gpu01"}, {"SLURM_STEP_TASKS_PER_NODE", "4"}, {"SLURM_LOCALID", "3"}}), 3,
       4, 3, 4, "127.0.0.1:", "SLURM_PROCID"},
      {"Slurm's batch script",
       {{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "17"}, {"SLURM_NTASKS", "4"}},
       0,
       1,
       0,
       1,
       "",
       "type srun"},
      {"Kubernetes", kKubernetes, 1, 2, 0, 1, "lenet-0.lenet:29500", "ARGOSY_TASKS"},
      {"TF_CONFIG", kTfConfig, 2, 3, 1, 2, "a:1", "TF_CONFIG"},
      {"an empty TF_CONFIG", {{"TF_CONFIG", "{}"}}, 0, 1, 0, 1, "", ""},
      {"TF_CONFIG of a task alone",
       {{"TF_CONFIG", R"({"cluster": {}, "task": {"type": "worker", "index": 0}})"}},
       0,
       1,
       0,
       1,
       "",
       ""},
      {"argosy launch", kArgosy, 1, 2, 0, 1, "a:29500", "ARGOSY_CLUSTER"},
      {"an address that the launcher does not tell", with(kHydra, {{"PMI_FD", ""}, {"ARGOSY_COORDINATOR", "a:7"}}), 1,
       2, 1, 2, "a:7", "PMI_RANK"},
      // A scheduler that holds a launcher: one torchrun for each of its tasks.
      {"torchrun under Slurm", with(kSlurm, kTorchrun), 3, 4, 1, 2, "gpu-a:29400", "WORLD_SIZE"},
      {"torchrun of 4 in 2 of Slurm's",
       with(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}}), kTorchrun), 3, 4, 1, 2, "gpu-a:29400",
       "WORLD_SIZE"},
      {"an agreeing pair", with(kOpenMpi, {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}), 1, 2, 1, 2,
       "127.0.0.1:", "OMPI_COMM_WORLD"},
      {"a sweep of Kubernetes", {{"JOB_COMPLETION_INDEX", "5"}}, 0, 1, 0, 1, "", ""},
  };
  for (const Right& row : rows) {
    SCOPED_TRACE(row.name);
    const auto place = find_place(row.environment, {});
    ASSERT_TRUE(place.ok()) << place.status().to_string();
    EXPECT_EQ(place->rank, row.rank);
    EXPECT_EQ(place->size, row.size);
    EXPECT_EQ(place->local_rank, row.local_rank);
    EXPECT_EQ(place->local_size, row.local_size);
    EXPECT_THAT(place->source, HasSubstr(row.source));
    const std::string coordinator = place->coordinators.empty() ? "" : place->coordinators[0];
    EXPECT_THAT(coordinator, HasSubstr(row.coordinator));
    EXPECT_EQ(coordinator.empty(), *row.coordinator == 0);
    EXPECT_FALSE(describe(*place).empty());
  }
}

struct Wrong {
  const char* name;
  EnvironmentMap environment;
  const char* id;
  const char* says;
};

TEST(FindPlace, NamesWhatIsWrong) {
  const Wrong rows[] = {
      {"no number", with(kTorchrun, {{"RANK", "three"}}), "ARG-CLUSTER-030", "RANK=three"},
      {"rank too high", with(kTorchrun, {{"RANK", "4"}}), "ARG-CLUSTER-030", "rank 4 of 4"},
      {"no tasks", with(kTorchrun, {{"WORLD_SIZE", "0"}}), "ARG-CLUSTER-030", "WORLD_SIZE=0"},
      {"a size alone", {{"WORLD_SIZE", "4"}}, "ARG-CLUSTER-032", "RANK is not set"},
      {"a rank alone", {{"RANK", "4"}}, "ARG-CLUSTER-032", "WORLD_SIZE is not set"},
      {"no address", with(kTorchrun, {{"MASTER_ADDR", ""}}), "ARG-CLUSTER-032", "MASTER_ADDR is not set"},
      {"a port too high", with(kTorchrun, {{"MASTER_PORT", "70000"}}), "ARG-CLUSTER-030", "MASTER_PORT=70000"},
      {"localhost of another host", with(kTorchrun, {{"MASTER_ADDR", "localhost"}}), "ARG-CLUSTER-048", "localhost"},
      {"local rank too high", with(kTorchrun, {{"LOCAL_RANK", "2"}}), "ARG-CLUSTER-030", "local rank 2 of 2"},
      {"more here than in all", with(kTorchrun, {{"LOCAL_WORLD_SIZE", "8"}}), "ARG-CLUSTER-030", "8 tasks"},
      {"two launchers", with(kOpenMpi, kTorchrun), "ARG-CLUSTER-031", "WORLD_SIZE say rank 3 of 4"},
      {"TF_CONFIG against torchrun", with(kTfConfig, kTorchrun), "ARG-CLUSTER-031", "TF_CONFIG say rank 2 of 3"},
      {"half of Open MPI", {{"OMPI_COMM_WORLD_SIZE", "2"}}, "ARG-CLUSTER-032", "OMPI_COMM_WORLD_RANK"},
      {"PMI without a way to ask", with(kHydra, {{"PMI_FD", ""}}), "ARG-CLUSTER-032", "where task 0 listens"},
      {"Slurm without hosts", with(kSlurm, {{"SLURM_STEP_NODELIST", ""}}), "ARG-CLUSTER-032", "SLURM_STEP_NODELIST"},
      {"Slurm's hosts damaged", with(kSlurm, {{"SLURM_STEP_NODELIST", "gpu[1-"}}), "ARG-CLUSTER-030", "bracket"},
      {"Kubernetes without an index", with(kKubernetes, {{"JOB_COMPLETION_INDEX", ""}}), "ARG-CLUSTER-032",
       "JOB_COMPLETION_INDEX"},
      {"Kubernetes without a service", with(kKubernetes, {{"ARGOSY_SERVICE", ""}}), "ARG-CLUSTER-032",
       "where task 0 is"},
      {"Kubernetes with names that are multiplied",
       with(kKubernetes, {{"ARGOSY_TASKS", "1000000"}, {"ARGOSY_SERVICE", std::string(100'000, 's')}}),
       "ARG-CLUSTER-030", "more than a name of a host"},
      {"TF_CONFIG without a task",
       {{"TF_CONFIG", R"({"cluster": {"worker": ["a:1", "b:1"]}})"}},
       "ARG-CLUSTER-032",
       "which this is"},
      {"a parameter server",
       {{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"], "ps": ["b:1"]},
                                               "task": {"type": "ps", "index": 0}})"}},
       "ARG-CLUSTER-032",
       "/job:ps"},
      {"localhost and names",
       {{"TF_CONFIG", R"({"cluster": {"worker": ["localhost:1", "b:1"]},
                                                 "task": {"type": "worker", "index": 0}})"}},
       "ARG-CLUSTER-048",
       "localhost"},
      {"ARGOSY_CLUSTER is no JSON", {{"ARGOSY_CLUSTER", "rank 1"}}, "ARG-CLUSTER-030", "no JSON"},
      {"ARGOSY_CLUSTER without an address",
       {{"ARGOSY_CLUSTER", R"({"rank": 0, "size": 2})"}},
       "ARG-CLUSTER-032",
       "where task 0 listens"},
      {"an address without a port", with(kTorchrun, {{"ARGOSY_COORDINATOR", "gpu-a"}}), "ARG-CLUSTER-030", "no port"},
  };
  for (const Wrong& row : rows) {
    SCOPED_TRACE(row.name);
    const auto place = find_place(row.environment, {});
    ASSERT_FALSE(place.ok()) << describe(*place);
    EXPECT_EQ(place.status().id(), row.id) << place.status().to_string();
    EXPECT_THAT(place.status().to_string(), HasSubstr(row.says));
    EXPECT_FALSE(place.status().where().empty());
    EXPECT_FALSE(place.status().hint().empty());
  }
}

TEST(FindPlace, FlagsComeFirst) {
  const auto place = find_place(kTorchrun, {.rank = 3, .size = 4, .coordinator = "h:1"});
  ASSERT_TRUE(place.ok()) << place.status().to_string();
  EXPECT_THAT(place->coordinators, testing::ElementsAre("h:1"));
  EXPECT_EQ(find_place(kTorchrun, {.rank = 0, .size = 4, .coordinator = "h:1"}).status().id(), "ARG-CLUSTER-031");
  EXPECT_EQ(find_place({}, {.rank = 0, .size = {}, .coordinator = ""}).status().id(), "ARG-CLUSTER-032");
}

TEST(FindPlace, TriesEightPorts) {
  EXPECT_THAT(find_place(kTorchrun, {})->coordinators, testing::SizeIs(8));
  EXPECT_THAT(eight_ports("a", 65534), testing::ElementsAre("a:65534", "a:65535"));
  for (const char* id : {"", "1.0", "17.3", "slurm 4711.0"}) {
    EXPECT_GE(port_of_job(id), 20'000);
    EXPECT_LT(port_of_job(id) + kPortsTried, 32'768);
  }
  EXPECT_NE(port_of_job("slurm 1.0"), port_of_job("slurm 1.1"));
}

TEST(FindPlace, SharesAHost) {
  const JobPlace place{.rank = 1, .size = 2, .local_rank = 1, .local_size = 2};
  EXPECT_THAT(place.own_share(5), testing::ElementsAre(1, 3));
  EXPECT_EQ(place.own_threads(5), 2);
  EXPECT_EQ(place.own_threads(1), 1);
}

}  // namespace
}  // namespace argosy
