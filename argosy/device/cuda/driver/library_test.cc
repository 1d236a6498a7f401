#include "argosy/device/cuda/driver/library.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace argosy::cuda {

namespace {

using testing::HasSubstr;

const char* environment(const char* name) {
  if (std::strcmp(name, "ARGOSY_CUDA_LIBRARIES") == 0) return "/first:/second";
  if (std::strcmp(name, "CUDA_HOME") == 0) return "/home/of/cuda";
  return nullptr;
}
const char* nothing(const char*) { return nullptr; }

TEST(CudaLibrary, IsLookedForWhereTheUserSaysFirst) {
  const auto folders = library_folders(cudnn_wanted(), environment);
  ASSERT_GE(folders.size(), 4U);
  EXPECT_EQ(folders[0], "/first");
  EXPECT_EQ(folders[1], "/second");
  EXPECT_EQ(folders[2], "/home/of/cuda/lib64");
  EXPECT_EQ(folders.back(), "");  // by plain name
  EXPECT_EQ(library_folders(cudnn_wanted(), nothing)[0], "/usr/local/cuda/lib64");
}

TEST(CudaLibrary, OneOfTheDriversReleaseComesBeforeANewerOne) {
  using Groups = std::vector<std::vector<std::string>>;
  EXPECT_EQ(file_groups(nvrtc_wanted(), 13), (Groups{{"libnvrtc.so.13", "libnvrtc.so.12"}}));
  EXPECT_EQ(file_groups(nvrtc_wanted(), 12), (Groups{{"libnvrtc.so.12"}, {"libnvrtc.so.13"}}));
  EXPECT_EQ(file_groups(cublaslt_wanted(), 12), (Groups{{"libcublasLt.so.12"}, {"libcublasLt.so.13"}}));
  EXPECT_EQ(file_groups(cudnn_wanted(), 12), (Groups{{"libcudnn.so.9"}}));  // a number of its own
  prefer_cuda(12);
  EXPECT_EQ(cudnn_wanted().package, "nvidia-cudnn-cu12");
  prefer_cuda(13);
}

TEST(CudaLibrary, SaysWhatIsMissingAndWhatIsTooOld) {
  const auto missing = Library::open({"cuNone", {"libcunone.so.1"}, "cunone", "cunone"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().id(), "ARG-GPU-011");
  EXPECT_THAT(missing.status().message(), HasSubstr("libcunone.so.1"));
  const Status old = check_library_version(cudnn_wanted(), "/x/libcudnn.so.9", 8090, 9000);
  EXPECT_EQ(old.id(), "ARG-GPU-012");
  EXPECT_THAT(old.message(), HasSubstr("cuDNN 8.9 in /x/libcudnn.so.9 is too old; 9.0 is needed"));
  EXPECT_TRUE(check_library_version(cudnn_wanted(), "/x", 9010, 9000).ok());
}

// pip's packages of the python3 on PATH, then of its user, then what conda puts beside it.
TEST(CudaLibrary, IsLookedForBesidePython) {
  namespace fs = std::filesystem;
  static const fs::path root = fs::temp_directory_path() / str_cat("argosy_library_", getpid());
  static std::string path, home;
  path = str_cat("/nowhere:", (root / "env" / "bin").string());
  home = (root / "home").string();
  for (const char* folder : {"env/bin", "env/lib/python3.11/site-packages/nvidia/cu12/lib",
                             "env/lib/python3.11/site-packages/nvidia/cu13/lib", "home/.local/lib/python3.11"}) {
    fs::create_directories(root / folder);
  }
  std::ofstream(root / "env" / "bin" / "python3") << "";
  const auto folders = library_folders(cublaslt_wanted(), [](const char* name) -> const char* {
    return std::strcmp(name, "PATH") == 0 ? path.c_str() : std::strcmp(name, "HOME") == 0 ? home.c_str() : nullptr;
  });
  fs::remove_all(root);
  std::vector<std::string> of_python;
  for (const std::string& folder : folders) {
    if (folder.starts_with(root.string())) of_python.push_back(folder.substr(root.string().size()));
  }
  EXPECT_THAT(of_python,
              testing::ElementsAre("/env/lib/python3.11/site-packages/nvidia/cublas/lib",
                                   "/env/lib/python3.11/site-packages/nvidia/cu13/lib",
                                   "/env/lib/python3.11/site-packages/nvidia/cu12/lib",
                                   "/env/lib/python3.11/dist-packages/nvidia/cublas/lib",
                                   "/home/.local/lib/python3.11/site-packages/nvidia/cublas/lib",
                                   "/home/.local/lib/python3.11/dist-packages/nvidia/cublas/lib", "/env/lib"));
}

TEST(CudaLibrary, FilesAndPackagesAreThoseOfTheCudaThatCompiled) {
  EXPECT_THAT(cublaslt_wanted(13).files, testing::ElementsAre("libcublasLt.so.13", "libcublasLt.so.12"));
  EXPECT_THAT(cublaslt_wanted(12).files, testing::ElementsAre("libcublasLt.so.12", "libcublasLt.so.13"));
  EXPECT_THAT(nvrtc_wanted(12).files, testing::ElementsAre("libnvrtc.so.12", "libnvrtc.so.13"));
  // Those of the toolkit have lost their suffix; what bears it now is empty.
  EXPECT_EQ(cublaslt_wanted(13).package, "nvidia-cublas");
  EXPECT_EQ(nvrtc_wanted(13).package, "nvidia-cuda-nvrtc");
  EXPECT_EQ(cublaslt_wanted(12).package, "nvidia-cublas-cu12");
  EXPECT_EQ(cudnn_wanted(13).package, "nvidia-cudnn-cu13");
  EXPECT_EQ(nccl_wanted(12).package, "nvidia-nccl-cu12");
}

TEST(CudaLibrary, OneThatDoesNotFitIsPassedOver) {
  const LibraryWanted wanted{"maths", {"libc.so.6", "libm.so.6"}, "none", "none"};
  const auto has_cosine = [](const Library& library) {
    return library.symbol("cos") != nullptr ? ok_status() : unavailable(library.path(), " has none");
  };
  const auto found = Library::open(wanted, has_cosine);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_THAT((*found)->path(), HasSubstr("libm.so.6"));
  const auto refused = Library::open(wanted, [](const Library& library) { return unavailable(library.path()); });
  EXPECT_THAT(refused.status().message(), HasSubstr("libc.so.6"));  // the first
}

// One that the process has open already is the one, unless its folder was named.
TEST(CudaLibrary, OneThatIsOpenIsTaken) {
  const auto libc = Library::open({"libc", {"libc.so.6"}, "none", "none"});
  ASSERT_TRUE(libc.ok());
  EXPECT_TRUE((*libc)->path().starts_with("/")) << (*libc)->path();
  setenv("ARGOSY_CUDA_LIBRARIES", "/nowhere", 1);
  const auto by_name = Library::open({"libc", {"libc.so.6"}, "none", "none"});
  unsetenv("ARGOSY_CUDA_LIBRARIES");
  ASSERT_TRUE(by_name.ok());
  EXPECT_EQ((*by_name)->path(), "libc.so.6");
}

TEST(CudaLibrary, OneThatIsThereIsOpened) {
  const auto libc = Library::open({"libc", {"libc.so.6"}, "none", "none"});
  ASSERT_TRUE(libc.ok());
  int (*call)(int) = nullptr;
  EXPECT_TRUE((*libc)->find(&call, "abs"));
  EXPECT_EQ(call(-3), 3);
  EXPECT_FALSE((*libc)->find(&call, "no_such_function_at_all"));
}

}  // namespace

}  // namespace argosy::cuda
