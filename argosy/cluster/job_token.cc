#include "argosy/cluster/job_token.h"

#include <algorithm>
#include <cstring>

#include "argosy/base/system/random_source.h"

namespace argosy {

JobToken JobToken::draw() {
  JobToken token;
  for (std::size_t at = 0; at < kBytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t bits = system_random_source().next();
    std::memcpy(token.bytes_.data() + at, &bits, sizeof bits);
  }
  return token;
}

Result<JobToken> JobToken::parse(std::string_view hexadecimal) {
  JobToken token;
  if (hexadecimal.empty()) return token;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  const bool right = hexadecimal.size() == 2 * kBytes &&
                     std::all_of(hexadecimal.begin(), hexadecimal.end(), [&](char c) { return digit(c) >= 0; });
  if (!right) {
    return invalid_argument("the job token has ", hexadecimal.size(), " characters, not 64 hexadecimal digits")
        .with_id("ARG-CLUSTER-034")
        .with_where("ARGOSY_JOB_TOKEN")
        .with_hint("export ARGOSY_JOB_TOKEN=$(openssl rand -hex 32), the same on every host");
  }
  for (std::size_t i = 0; i < kBytes; ++i) {
    token.bytes_[i] = static_cast<char>(digit(hexadecimal[2 * i]) * 16 + digit(hexadecimal[2 * i + 1]));
  }
  return token;
}

bool JobToken::none() const {
  return std::all_of(bytes_.begin(), bytes_.end(), [](char c) { return c == 0; });
}

std::string JobToken::to_hexadecimal() const {
  if (none()) return {};
  std::string text;
  for (const char c : bytes_) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

bool JobToken::equals(std::string_view bytes) const {
  if (bytes.size() != kBytes) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < kBytes; ++i) difference |= static_cast<unsigned char>(bytes[i] ^ bytes_[i]);
  return difference == 0;
}

}  // namespace argosy
