// LentBlock: what a client lends to a server, for tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "argosy/base/str.h"

namespace argosy::tf {

// Memory of this process, shared as a client shares what it lends (feeds/lent_feeds.h). The secret is "s3cret".
class LentBlock {
 public:
  explicit LentBlock(const std::string& name, std::size_t elements = 4, unsigned seals = F_SEAL_SHRINK)
      : name_("argosy-feed-" + name), size_(4096 + elements * sizeof(float)) {
    file_ = ::memfd_create(name_.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_GE(file_, 0);
    EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(size_)), 0);
    EXPECT_EQ(::fcntl(file_, F_ADD_SEALS, seals), 0);
    at_ = static_cast<std::byte*>(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  }
  ~LentBlock() { close(); }
  void close() {
    if (file_ < 0) return;
    ::munmap(at_, size_);
    ::close(file_);
    file_ = -1;
  }
  std::string token(const std::string& kind) const {
    return str_cat("argosy-feed s3cret ", ::getpid(), " ", file_, " ", name_, " ", kind);
  }
  float* floats() { return reinterpret_cast<float*>(at_ + 4096); }
  int users() const { return *reinterpret_cast<const volatile std::int32_t*>(at_); }

 private:
  const std::string name_;
  const std::size_t size_;
  int file_ = -1;
  std::byte* at_ = nullptr;
};

}  // namespace argosy::tf
