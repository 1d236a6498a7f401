#include "argosy/device/cuda/driver/runtime_compiler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "argosy/base/str.h"
#include "argosy/base/system/test_files.h"

namespace argosy::cuda {

namespace {

// Says what it was asked for, and counts.
class Counting final : public RuntimeCompiler {
 public:
  explicit Counting(std::string version) : version_(std::move(version)) {}
  std::string version() const override { return version_; }
  std::vector<int> architectures() const override { return {}; }
  Result<std::string> compile(const std::string& source, int major, int minor) override {
    ++compiled;
    return str_cat(version_, " ", source, " ", major, ".", minor);
  }
  int compiled = 0;

 private:
  const std::string version_;
};

std::string made_by(RuntimeCompiler& compiler, const std::string& source, int major = 9) {
  auto made = compiler.compile(source, major, 0);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return made.ok() ? *made : "";
}

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(RuntimeCompilerCache, CompilesOnceForASourceAnArchitectureAndAVersion) {
  const TempDirectory folder;
  const auto inner = std::make_shared<Counting>("one");
  EXPECT_EQ(made_by(*cached(inner, folder.path("cache")), "a"), "one a 9.0");
  EXPECT_EQ(made_by(*cached(inner, folder.path("cache")), "a"), "one a 9.0");  // as another process would
  EXPECT_EQ(inner->compiled, 1);
  EXPECT_EQ(made_by(*cached(inner, folder.path("cache")), "b"), "one b 9.0");
  EXPECT_EQ(made_by(*cached(inner, folder.path("cache")), "a", 8), "one a 8.0");
  EXPECT_EQ(inner->compiled, 3);
  const auto other = std::make_shared<Counting>("two");
  EXPECT_EQ(made_by(*cached(other, folder.path("cache")), "a"), "two a 9.0");
  EXPECT_EQ(files_in(folder.path("cache")).size(), 4u);
}

TEST(RuntimeCompilerCache, AFileThatIsNotWholeIsMadeAnew) {
  const TempDirectory folder;
  const auto inner = std::make_shared<Counting>("one");
  const auto compiler = cached(inner, folder.path("cache"));
  made_by(*compiler, "source");
  const auto files = files_in(folder.path("cache"));
  ASSERT_EQ(files.size(), 1u);
  std::string whole;
  {
    std::ifstream in(files[0], std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::string spoilt = whole;
  spoilt[2] ^= 1;
  int expected = 1;
  for (const std::string& text : {std::string(), whole.substr(0, 5), whole.substr(0, whole.size() - 1), spoilt}) {
    std::ofstream(files[0], std::ios::binary) << text;
    EXPECT_EQ(made_by(*compiler, "source"), "one source 9.0");
    EXPECT_EQ(inner->compiled, ++expected);
    EXPECT_EQ(made_by(*compiler, "source"), "one source 9.0");
    EXPECT_EQ(inner->compiled, expected);  // it was written again
  }
}

TEST(RuntimeCompilerCache, WhereNothingCanBeWrittenItCompiles) {
  const TempDirectory folder;
  std::ofstream(folder.path("file")) << "no folder";
  const auto inner = std::make_shared<Counting>("one");
  for (const std::string& nowhere : {folder.path("file"), folder.path("file") + "/below"}) {
    EXPECT_EQ(made_by(*cached(inner, nowhere), "a"), "one a 9.0");
    EXPECT_EQ(made_by(*cached(inner, nowhere), "a"), "one a 9.0");
  }
  EXPECT_EQ(inner->compiled, 4);
  EXPECT_EQ(cached(inner, ""), inner);
}

TEST(RuntimeCompiler, AGpuNewerThanTheCompilerGetsTheNewestItKnows) {
  const std::vector<int> known = {61, 75, 80, 90};
  EXPECT_EQ(nearest_architecture(known, 90), 90);
  EXPECT_EQ(nearest_architecture(known, 120), 90);
  EXPECT_EQ(nearest_architecture(known, 86), 80);
  EXPECT_EQ(nearest_architecture(known, 52), 52);  // the compiler says what it thinks of it
  EXPECT_EQ(nearest_architecture({}, 90), 90);
}

// The library itself: text for a GPU of tomorrow, code for one that it knows.
TEST(RuntimeCompiler, NvrtcMakesCodeOrText) {
  auto nvrtc = open_nvrtc();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().to_string();
  const std::vector<int> known = (*nvrtc)->architectures();
  ASSERT_FALSE(known.empty());
  const std::string source = "extern \"C\" __global__ void one(int* x) { *x = 1; }";
  auto code = (*nvrtc)->compile(source, known.back() / 10, known.back() % 10);
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  EXPECT_EQ(code->substr(1, 3), "ELF");
  auto text = (*nvrtc)->compile(source, known.back() / 10 + 10, 0);
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_NE(text->find(".entry one"), text->npos);
  EXPECT_FALSE((*nvrtc)->compile(source, 1, 0).ok());
  EXPECT_FALSE((*nvrtc)->compile("no code", known.back() / 10, known.back() % 10).ok());
}

}  // namespace

}  // namespace argosy::cuda
