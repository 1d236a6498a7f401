#include "argosy/cluster/launch/launch_plan.h"

#include <gmock/gmock.h>

#include <random>

#include "argosy/cluster/launch/scheduler_commands.h"

namespace argosy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(HostSlots, ReadsListsAndFiles) {
  EXPECT_THAT(*parse_hosts("a:2, b"), ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 0}));
  EXPECT_THAT(*parse_hosts("[fd00::1]:2,me@b:1"), ElementsAre(HostSlots{"fd00::1", 2}, HostSlots{"me@b", 1}));
  EXPECT_THAT(*parse_host_file("# ours\na slots=2\n\nb:3   # new\nc\n"),
              ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 3}, HostSlots{"c", 0}));
}

TEST(HostSlots, RefusesWhatSshMustNotSee) {
  for (const char* text : {"", "a,,b", "a:0", "a:x", "a:9999", "-oProxyCommand=x", "a;b", "a b", "$(x)", "a,a:2",
                           "[a:1", "me@", "me@:2", "@a", "a@b@c:2", "me@a,you@a", "a,me@a:2"}) {
    EXPECT_EQ(parse_hosts(text).status().id(), "ARG-CLUSTER-050") << text;
  }
  const Status damaged = parse_host_file("a slots=2\nb slot=2\n").status();
  EXPECT_EQ(damaged.id(), "ARG-CLUSTER-050");
  EXPECT_THAT(damaged.message(), HasSubstr("line 2"));
}

TEST(HostSlots, DamagedTextsAreErrorsOrHosts) {
  std::mt19937_64 random(34);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = "gpu-a:4,[fd00::1]:2,gpu-b slots=3";
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(1 + random() % 127);
    for (const auto& hosts : {parse_hosts(text), parse_host_file(text)}) {
      if (!hosts.ok()) {
        ASSERT_EQ(hosts.status().id(), "ARG-CLUSTER-050") << text;
        continue;
      }
      for (const HostSlots& host : *hosts) {
        ASSERT_FALSE(host.host.empty() || host.host[0] == '-') << text;
        ASSERT_EQ(host.host.find_first_of(" ;$`'\"\\|&<>()"), std::string::npos) << text;
      }
    }
  }
}

LaunchPlan plan_of(LaunchRequest request) {
  request.port = 20'000;
  request.job = "j";
  auto plan = make_launch_plan(request);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  return *std::move(plan);
}

TEST(LaunchPlan, OneProcessAHostForArgosy) {
  const LaunchPlan plan = plan_of({.hosts = {{"a", 2}, {"b", 2}}});
  ASSERT_EQ(plan.tasks.size(), 2u);
  EXPECT_EQ(plan.tasks[1].devices, 2);
  EXPECT_EQ(plan.coordinators[0], "a:20000");
  EXPECT_FALSE(plan.tasks[1].environment.contains("RANK"));
  const auto place = find_place(plan.tasks[1].environment, {});
  ASSERT_TRUE(place.ok()) << place.status().to_string();
  EXPECT_EQ(place->rank, 1);
  EXPECT_EQ(place->size, 2);
  EXPECT_THAT(place->hosts, ElementsAre("a", "b"));
}

TEST(LaunchPlan, OneProcessASlotForOthers) {
  const LaunchPlan plan = plan_of({.hosts = {{"a", 2}, {"b", 1}}, .per_slot = true});
  ASSERT_EQ(plan.tasks.size(), 3u);
  for (const LaunchTask& task : plan.tasks) {
    // All that it sets says the same, whoever reads it.
    for (const char* only : {"ARGOSY_CLUSTER", "WORLD_SIZE", "TF_CONFIG"}) {
      EnvironmentMap environment = task.environment;
      for (const char* other : {"ARGOSY_CLUSTER", "TF_CONFIG"}) {
        if (std::string_view(other) != only) environment.erase(other);
      }
      if (std::string_view(only) != "WORLD_SIZE") {
        environment.erase("RANK");
        environment.erase("WORLD_SIZE");
      }
      const auto place = find_place(environment, {});
      ASSERT_TRUE(place.ok()) << place.status().to_string();
      EXPECT_EQ(place->rank, task.rank) << only;
      EXPECT_EQ(place->size, 3) << only;
      EXPECT_EQ(place->local_rank, task.local_rank) << only;
    }
    EXPECT_TRUE(find_place(task.environment, {}).ok());
    EXPECT_EQ(task.devices, 0);
  }
  EXPECT_EQ(plan.tasks[1].environment.at("LOCAL_WORLD_SIZE"), "2");
}

TEST(LaunchPlan, UsesOnlySoManySlots) {
  const LaunchPlan two = plan_of({.hosts = {{"a", 2}, {"b", 2}}, .per_slot = true, .processes = 3});
  EXPECT_EQ(two.tasks.size(), 3u);
  const LaunchPlan devices = plan_of({.hosts = {{"a", 2}, {"b", 2}}, .processes = 3});
  EXPECT_EQ(devices.tasks[0].devices, 2);
  EXPECT_EQ(devices.tasks[1].devices, 1);
  EXPECT_EQ(make_launch_plan({.hosts = {{"a", 2}}, .processes = 3}).status().id(), "ARG-CLUSTER-050");
}

TEST(LaunchPlan, RefusesLocalhostBesideOthers) {
  EXPECT_EQ(make_launch_plan({.hosts = {{"localhost", 1}, {"b", 1}}}).status().id(), "ARG-CLUSTER-048");
}

TEST(LaunchPlan, UsersOfSshAreInNoAddress) {
  const LaunchPlan plan = plan_of({.hosts = {{"me@a", 1}, {"you@b", 1}}, .per_slot = true});
  EXPECT_EQ(plan.tasks[1].host, "you@b");
  EXPECT_EQ(plan.coordinators[0], "a:20000");
  for (const auto& [name, value] : plan.tasks[1].environment) EXPECT_EQ(value.find('@'), std::string::npos) << name;
  EXPECT_THAT(find_place(plan.tasks[1].environment, {})->hosts, ElementsAre("a", "b"));
}

TEST(LaunchPlan, AddressesThatAreNoneAreErrors) {
  for (const char* host : {"a b", "b@c@d", "a/b", "[x"}) {
    const Status status =
        make_launch_plan({.hosts = {{"a", 1}, {"b", 1}}, .per_slot = true, .coordinator_host = host}).status();
    EXPECT_EQ(status.id(), "ARG-CLUSTER-030") << host;
  }
  EXPECT_EQ(make_launch_plan({.hosts = {{"a", 1}}, .coordinator_host = "[fd00::1]"})->coordinators[0], "[fd00::1]:0");
}

TEST(LaunchPlan, PortsOfTheTasksServersArePorts) {
  const std::vector<HostSlots> hosts = {{"a", 2}, {"b", 2}};
  const Status high = make_launch_plan({.hosts = hosts, .per_slot = true, .port = 65527}).status();
  EXPECT_EQ(high.id(), "ARG-CLUSTER-050");
  EXPECT_THAT(high.hint(), HasSubstr("--master-port 65526 or lower"));
  const auto plan = make_launch_plan({.hosts = hosts, .per_slot = true, .port = 65526});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_THAT(plan->tasks[3].environment.at("TF_CONFIG"), HasSubstr("b:65535"));
  EXPECT_TRUE(make_launch_plan({.hosts = hosts, .port = 65535}).ok());  // one process a host, which has no such server
}

TEST(SchedulerCommands, AreTheirs) {
  const SchedulerJob job{.program = {"argosy", "train", "lenet"},
                         .hosts = {{"a", 2}, {"b", 2}},
                         .nodes = 2,
                         .devices_of_node = 2,
                         .passed_on = {"ARGOSY_JOB_TOKEN"}};
  EXPECT_EQ(shell_line(srun_command(job)),
            "srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --kill-on-bad-exit=1 --export=ALL --gpus-per-node=2 "
            "--nodelist=a,b argosy train lenet");
  EXPECT_EQ(shell_line(mpirun_command(job, MpiKind::kOpenMpi, true)),
            "mpirun --allow-run-as-root -np 2 --host a:1,b:1 --oversubscribe --bind-to none -x ARGOSY_JOB_TOKEN argosy "
            "train lenet");
  EXPECT_EQ(shell_line(mpirun_command(job, MpiKind::kHydra, false)),
            "mpirun -n 2 -hosts a:1,b:1 -genvall argosy train lenet");
  EXPECT_EQ(shell_line({"a b", "it's", ""}), "'a b' 'it'\\''s' ''");
}

TEST(KubernetesManifest, NamesItsParts) {
  SchedulerJob job{.program = {"argosy", "train", "le\"net"},
                   .nodes = 2,
                   .devices_of_node = 4,
                   .variables = {{"OMP_NUM_THREADS", "2"}},
                   .name = "lenet",
                   .image = "r/argosy",
                   .token = "00"};
  const auto manifest = kubernetes_manifest(job);
  ASSERT_TRUE(manifest.ok());
  for (const char* part :
       {"kind: Secret", "clusterIP: None", "completionMode: Indexed", "podFailurePolicy", "nvidia.com/gpu: 4",
        R"(["argosy", "train", "le\"net"])", "ARGOSY_SERVICE", "- name: OMP_NUM_THREADS\n              value: \"2\""}) {
    EXPECT_THAT(*manifest, HasSubstr(part));
  }
  job.name = "Le_net";
  EXPECT_EQ(kubernetes_manifest(job).status().id(), "ARG-CLUSTER-050");
  job.name = "lenet";
  job.image.clear();
  EXPECT_EQ(kubernetes_manifest(job).status().id(), "ARG-CLUSTER-050");
}

}  // namespace
}  // namespace argosy
