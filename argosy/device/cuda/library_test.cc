#include "argosy/device/cuda/library.h"

#include <gmock/gmock.h>

#include <cstring>

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
  EXPECT_THAT(Library::open({"cuNone", {"libcunone.so.1"}, "cunone"}).status().next(), HasSubstr("nvidia-cunone-cu12"));
  prefer_cuda(13);
}

TEST(CudaLibrary, SaysWhatIsMissingAndWhatIsTooOld) {
  const auto missing = Library::open({"cuNone", {"libcunone.so.1"}, "cunone"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().id(), "ARG-GPU-011");
  EXPECT_THAT(missing.status().message(), HasSubstr("libcunone.so.1"));
  const Status old = check_library_version(cudnn_wanted(), "/x/libcudnn.so.9", 8090, 9000);
  EXPECT_EQ(old.id(), "ARG-GPU-012");
  EXPECT_THAT(old.message(), HasSubstr("cuDNN 8.9 in /x/libcudnn.so.9 is too old; 9.0 is needed"));
  EXPECT_TRUE(check_library_version(cudnn_wanted(), "/x", 9010, 9000).ok());
}

TEST(CudaLibrary, OneThatIsThereIsOpened) {
  const auto libc = Library::open({"libc", {"libc.so.6"}, "none"});
  ASSERT_TRUE(libc.ok());
  int (*call)(int) = nullptr;
  EXPECT_TRUE((*libc)->find(&call, "abs"));
  EXPECT_EQ(call(-3), 3);
  EXPECT_FALSE((*libc)->find(&call, "no_such_function_at_all"));
}

}  // namespace

}  // namespace argosy::cuda
