#include "argosy/formats/proto/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace argosy::tf {
namespace {

TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(unmask_crc(mask_crc(0x12345678u)), 0x12345678u);
}

TEST(Crc32c, FastTableAndCombinedAgree) {
  std::mt19937 random(1);
  std::string bytes(5000, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  for (const std::size_t n : {0u, 1u, 7u, 64u, 255u, 4096u, 5000u}) {
    const std::string_view text(bytes.data(), n);
    EXPECT_EQ(crc32c(text), internal::crc32c_table(0, text.data(), n)) << n;
    for (const std::size_t cut : {std::size_t{0}, n / 3, n}) {
      EXPECT_EQ(crc32c_combine(crc32c(text.substr(0, cut)), crc32c(text.substr(cut)), n - cut), crc32c(text)) << n;
      EXPECT_EQ(crc32c_extend(crc32c(text.substr(0, cut)), text.data() + cut, n - cut), crc32c(text)) << n;
    }
  }
}

}  // namespace
}  // namespace argosy::tf
