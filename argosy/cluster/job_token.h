// JobToken: 256 random bits that the tasks of a job share. It is passed in the environment (ARGOSY_JOB_TOKEN), never on
// a command line. Every request to the coordinator begins with it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy {

class JobToken {
 public:
  static constexpr std::size_t kBytes = 32;

  JobToken() = default;  // none: 32 zero bytes
  static JobToken draw();
  // 64 hexadecimal digits, or "" for none. INVALID_ARGUMENT "ARG-CLUSTER-034" otherwise; the message does not contain
  // the text.
  static Result<JobToken> parse(std::string_view hexadecimal);

  bool none() const;
  std::string to_hexadecimal() const;
  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }
  // Compares in constant time.
  bool equals(std::string_view bytes) const;

 private:
  std::array<char, kBytes> bytes_{};
};

}  // namespace argosy
