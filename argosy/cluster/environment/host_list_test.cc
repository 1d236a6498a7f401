#include "argosy/cluster/environment/host_list.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace argosy {
namespace {

using testing::ElementsAre;

TEST(HostList, Expands) {
  EXPECT_THAT(*expand_host_list("a"), ElementsAre("a"));
  EXPECT_THAT(*expand_host_list("gpu[001-003,7],login"), ElementsAre("gpu001", "gpu002", "gpu003", "gpu7", "login"));
  EXPECT_THAT(*expand_host_list("r[1-2]n[08-10]x"),
              ElementsAre("r1n08x", "r1n09x", "r1n10x", "r2n08x", "r2n09x", "r2n10x"));
  EXPECT_THAT(*expand_counts("2(x3),1"), ElementsAre(2, 2, 2, 1));
}

TEST(HostList, RefusesWhatItCannotRead) {
  for (const char* text : {"", "a,,b", "a[", "a]", "a[]", "a[2-1]", "a[x]", "a[1-2", "a[[1]]", "a[1-99999999]",
                           "a[0-255]b[0-255]c[0-255]", "a[18446744073709551615-18446744073709551616]"}) {
    EXPECT_EQ(expand_host_list(text).status().id(), "ARG-CLUSTER-030") << text;
  }
  for (const char* text : {"", "x", "2(x", "2(x)", "2(x3", "(x3)", "2(x99999999)", "-1"}) {
    EXPECT_EQ(expand_counts(text).status().id(), "ARG-CLUSTER-030") << text;
  }
}

// A list that names much in few bytes.
TEST(HostList, LongNamesAreNotMultiplied) {
  const std::string much(100'000, 'x');
  for (const std::string& text : {much + "[0-65000]", "[0-65000]" + much, "a[" + std::string(100'000, '0') + "-65000]",
                                  "[0-200]a[0-200]" + std::string(300, 'x')}) {
    EXPECT_EQ(expand_host_list(text).status().id(), "ARG-CLUSTER-030") << text.substr(0, 40);
  }
  EXPECT_TRUE(expand_host_list(std::string(240, 'x') + "[0-1]").ok());
}

// The same as Slurm's own command, where it is installed.
TEST(HostList, AgreesWithScontrol) {
  if (std::system("command -v scontrol > /dev/null 2>&1") != 0) GTEST_SKIP() << "scontrol is not installed";
  const std::string configuration = testing::TempDir() + "argosy_slurm.conf";
  std::ofstream(configuration)
      << "ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=p Nodes=ALL\n";
  ::setenv("SLURM_CONF", configuration.c_str(), 1);
  for (const std::string text : {"a", "gpu[001-003,7],login", "r[1-2]n[08-10]", "n[9-11],m", "ab[1,3,5-6]"}) {
    std::FILE* const pipe = ::popen(("scontrol show hostnames '" + text + "' 2>/dev/null").c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string printed;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) printed += static_cast<char>(c);
    if (::pclose(pipe) != 0) GTEST_SKIP() << "scontrol does not run here";
    const auto ours = expand_host_list(text);
    ASSERT_TRUE(ours.ok()) << ours.status().to_string();
    EXPECT_EQ(str_join(*ours, "\n") + "\n", printed) << text;
  }
}

}  // namespace
}  // namespace argosy
