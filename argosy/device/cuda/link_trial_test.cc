#include "argosy/device/cuda/link_trial.h"

#include <gmock/gmock.h>

#include <thread>

#include "argosy/device/cuda/fake/fake_driver_machine.h"

namespace argosy::cuda {
namespace {

using ::testing::HasSubstr;

// Slow sanitizers on busy machines end, too.
constexpr TrialOptions kSmall{.bytes = std::size_t{2} << 20, .rounds = 2, .deadline = std::chrono::minutes(4)};

std::vector<LinkFacts> tried(fake::Machine& machine, int gpus, const TrialOptions& options = kSmall) {
  std::vector<TrialGpu> list;
  for (int c = 0; c < gpus; ++c) list.push_back({.handle = c, .number = c});
  return try_links(machine.driver().driver(), std::make_shared<Links>(), std::move(list), options);
}

TEST(LinkTrial, EveryPairBothWaysAndTheHostAreMeasuredAndLookedAt) {
  fake::Machine machine({.gpus = {{}, {}, {}}});
  const auto links = tried(machine, 3);
  ASSERT_EQ(links.size(), 3U * 2 + 3 * 2);
  for (const LinkFacts& link : links) {
    EXPECT_TRUE(link.tried && link.intact && link.direct && link.reaches) << link.from << " " << link.to;
    EXPECT_GT(link.bytes_per_second, 0);
    EXPECT_EQ(link.problem, "");
  }
  EXPECT_EQ(links[0].from, LinkFacts::kHost);
  EXPECT_EQ(links[1].to, LinkFacts::kHost);
  EXPECT_EQ(links[6].from, 0);
  EXPECT_EQ(links[6].to, 1);
  for (int gpu = 0; gpu < 3; ++gpu) {
    EXPECT_EQ(machine.driver().bytes_in_use(gpu), 0U);
    EXPECT_EQ(machine.driver().contexts(gpu), 0);
  }
}

TEST(LinkTrial, GpusThatDoNotReachEachOtherGoByTheHost) {
  fake::Machine machine({.gpus = {{}, {}}, .peers_reach = false});
  const auto links = tried(machine, 2);
  ASSERT_EQ(links.size(), 6U);
  EXPECT_FALSE(links[4].reaches);
  EXPECT_FALSE(links[4].direct);
  EXPECT_TRUE(links[4].intact);
  EXPECT_GT(links[4].bytes_per_second, 0);
  EXPECT_THAT(links[4].why_not, HasSubstr("do not reach each other"));
}

TEST(LinkTrial, WrongDataIsSeenInSmallCopiesAndInLargeOnes) {
  {
    fake::Machine machine({.gpus = {{}, {}}, .peers_lie = true});
    const auto links = tried(machine, 2);
    EXPECT_TRUE(links[4].reaches);
    EXPECT_FALSE(links[4].direct);  // so it goes by the host, and arrives
    EXPECT_TRUE(links[4].intact);
    EXPECT_THAT(links[4].why_not, HasSubstr("wrong data"));
  }
  fake::Machine machine({.gpus = {{}, {}}, .peers_lie = true, .lies_from = std::size_t{1} << 20});
  const auto links = tried(machine, 2);
  EXPECT_TRUE(links[4].direct && links[4].tried);
  EXPECT_FALSE(links[4].intact);
  EXPECT_THAT(links[4].problem, HasSubstr("ARGOSY_PEER_COPIES=0"));
}

TEST(LinkTrial, DirectCopiesCanBeSwitchedOff) {
  setenv("ARGOSY_PEER_COPIES", "0", 1);
  fake::Machine machine({.gpus = {{}, {}}, .peers_lie = true, .lies_from = std::size_t{1} << 20});
  const auto links = tried(machine, 2);
  unsetenv("ARGOSY_PEER_COPIES");
  EXPECT_TRUE(links[4].intact);
  EXPECT_FALSE(links[4].direct);
  EXPECT_EQ(links[4].why_not, "ARGOSY_PEER_COPIES=0");
  EXPECT_EQ(machine.driver().counts().direct_copies, 0);
}

TEST(LinkTrial, TheHostsLinkIsLookedAtToo) {
  fake::Machine machine({.host_lies = true});
  const auto links = tried(machine, 1);
  ASSERT_EQ(links.size(), 2U);
  EXPECT_TRUE(links[0].tried);
  EXPECT_FALSE(links[0].intact);
  EXPECT_THAT(links[0].problem, HasSubstr("not what was sent"));
}

TEST(LinkTrial, AGpuWithoutMemorySaysSo) {
  fake::Machine machine({.gpus = {{.memory_bytes = std::uint64_t{1} << 20}, {}}});
  const auto links = tried(machine, 2);
  EXPECT_FALSE(links[0].tried);
  EXPECT_THAT(links[0].problem, HasSubstr("refused by the GPU"));
  EXPECT_TRUE(links[2].intact);  // the other GPU's
  EXPECT_FALSE(links[5].tried);  // between them
}

TEST(LinkTrial, ACopyThatDoesNotEndIsToldInTime) {
  fake::Machine machine({.gpus = {{}, {}}, .peers_hang = true});
  const auto links = tried(machine, 2, {.bytes = 1 << 20, .rounds = 1, .deadline = std::chrono::seconds(2)});
  ASSERT_EQ(links.size(), 6U);
  EXPECT_TRUE(links[3].intact);
  EXPECT_FALSE(links[4].tried);
  EXPECT_THAT(links[4].problem, HasSubstr("does not end within 2 s"));
  EXPECT_THAT(links[5].problem, HasSubstr("not tried"));
  // Only a fake can be let go again.
  machine.driver().end_hang();
  while (machine.driver().contexts(0) > 0 || machine.driver().contexts(1) > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(LinkTrial, TheBackendTellsLinksAndWhoMakesSums) {
  fake::Machine machine({.gpus = {{}, {}}},
                        {.collectives = [](const std::vector<CudaDevice*>& devices, bool deterministic) {
                          return CollectiveFacts{deterministic ? "own" : "NCCL", str_cat(devices.size(), " GPUs")};
                        }});
  const GpuLinks all = machine.backend()->try_links();
  EXPECT_EQ(all.links.size(), 6U);
  EXPECT_THAT(all.group, testing::ElementsAre(0, 1));
  EXPECT_EQ(all.sums.way, "NCCL");
  EXPECT_EQ(all.ordered_sums.way, "own");
  EXPECT_EQ(all.sums.reason, "2 GPUs");
}

// NVML is C: what it would say of a GPU with broken memory.
int nvml_ok() { return 0; }
int nvml_version(char* text, unsigned) {
  std::snprintf(text, 8, "13.580");
  return 0;
}
int nvml_handle(const char*, NvmlCalls::Handle* gpu) {
  *gpu = nullptr;
  return 0;
}
int nvml_index(NvmlCalls::Handle, unsigned* index) {
  *index = 5;
  return 0;
}
int nvml_none(NvmlCalls::Handle, NvmlCalls::Memory*) { return 3; }
int nvml_no_rates(NvmlCalls::Handle, NvmlCalls::Utilisation*) { return 3; }
int nvml_no_processes(NvmlCalls::Handle, unsigned*, NvmlCalls::Process*) { return 3; }
int nvml_many_processes(NvmlCalls::Handle, unsigned* count, NvmlCalls::Process* list) {
  constexpr unsigned kThere = 70;
  const unsigned room = std::exchange(*count, kThere);
  if (room < kThere) return 7;
  for (unsigned i = 0; i < kThere; ++i) list[i].pid = i + 1;
  return 0;
}
int nvml_no_links(NvmlCalls::Handle, unsigned, unsigned*) { return 3; }
int nvml_ecc(NvmlCalls::Handle, int type, int counter, unsigned long long* count) {
  if (counter != 0) return 2;
  *count = type == 0 ? 12 : 3;
  return 0;
}
int nvml_rows(NvmlCalls::Handle, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  *corrected = *uncorrected = *failed = 0;
  *pending = 1;
  return 0;
}

TEST(Nvml, TellsBitErrorsAndItsVersion) {
  NvmlCalls calls{.init = nvml_ok,
                  .shutdown = nvml_ok,
                  .driver_version = nvml_version,
                  .handle_by_pci = nvml_handle,
                  .memory = nvml_none,
                  .utilisation = nvml_no_rates,
                  .processes = nvml_no_processes,
                  .link_state = nvml_no_links,
                  .index = nvml_index,
                  .library_version = nvml_version,
                  .ecc_errors = nvml_ecc,
                  .remapped_rows = nvml_rows};
  GpuFacts facts;
  const auto nvml = Nvml::over(calls, "/lib/libnvidia-ml.so.1").value();
  nvml->look_at(facts);
  EXPECT_EQ(facts.system_number, 5);
  EXPECT_EQ(facts.ecc_corrected, 12);
  EXPECT_EQ(facts.ecc_uncorrected, 3);
  EXPECT_EQ(facts.rows_pending, 1);
  EXPECT_EQ(facts.memory_used_bytes, -1);
  EXPECT_EQ(nvml->library().version, "13.580");
  EXPECT_EQ(nvml->library().path, "/lib/libnvidia-ml.so.1");
  // More than a first guess.
  calls.processes = nvml_many_processes;
  facts = {};
  Nvml::over(calls).value()->look_at(facts);
  ASSERT_EQ(facts.users.size(), 70U);
  EXPECT_TRUE(facts.users.back().starts_with("pid 70"));
  // Older ones do not know these.
  calls.ecc_errors = nullptr;
  calls.remapped_rows = nullptr;
  facts = {};
  Nvml::over(calls).value()->look_at(facts);
  EXPECT_EQ(facts.ecc_uncorrected, -1);
  EXPECT_EQ(facts.rows_pending, -1);
}

TEST(Nvml, WhyItIsNotThereIsALibrarysProblem) {
  fake::Machine machine({}, {.nvml_problem = "libnvidia-ml.so.1 is not found"});
  const auto libraries = machine.backend()->libraries();
  ASSERT_EQ(libraries.size(), 1U);
  EXPECT_EQ(libraries[0].name, "NVML");
  EXPECT_EQ(libraries[0].problem, "libnvidia-ml.so.1 is not found");
}

}  // namespace
}  // namespace argosy::cuda
