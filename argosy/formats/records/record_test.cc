#include "argosy/formats/records/record.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "argosy/base/system/test_files.h"

namespace argosy::tf {
namespace {

Result<std::vector<std::string>> read_records(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::open(path));
  std::vector<std::string> records;
  for (;;) {
    ARGOSY_ASSIGN_OR_RETURN(const auto record, reader.next());
    if (!record) return records;
    records.emplace_back(*record);
  }
}

TEST(Record, RoundTripsAnyPayload) {
  TempDirectory temp;
  std::mt19937 random(7);
  std::vector<std::string> payloads = {"", "x", std::string(300000, 'a')};
  for (int i = 0; i < 200; ++i) {
    std::string payload(random() % 5000, '\0');
    for (char& c : payload) c = static_cast<char>(random());
    payloads.push_back(payload);
  }
  {
    RecordWriter writer = *RecordWriter::create(temp.path("r"));
    for (const auto& p : payloads) ASSERT_TRUE(writer.write(p).ok());
  }
  EXPECT_EQ(*read_records(temp.path("r")), payloads);
}

TEST(Record, EveryCutAndEveryFlipIsNoticed) {
  TempDirectory temp;
  std::string bytes;
  frame_record("first", bytes);
  const std::size_t boundary = bytes.size();
  frame_record("second one", bytes);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    temp.write("cut", bytes.substr(0, n));
    const auto records = read_records(temp.path("cut"));
    EXPECT_EQ(records.ok(), n == 0 || n == boundary) << n;
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    temp.write("flip", flipped);
    EXPECT_EQ(read_records(temp.path("flip")).status().code(), Code::kDataLoss) << bit;
  }
}

}  // namespace
}  // namespace argosy::tf
