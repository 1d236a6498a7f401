#include "argosy/data/files/cifar.h"

#include "argosy/base/system/file.h"
#include "argosy/data/array_dataset.h"
#include "argosy/data/files/labels.h"

namespace argosy::data {

namespace {

constexpr std::int64_t kPixels = 32 * 32;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

bool has(const std::string& directory, std::string_view name) { return file_exists(join_path(directory, name)); }
bool is_cifar100(const std::string& directory) {
  return has(directory, "train.bin") || (has(directory, "test.bin") && !has(directory, "test_batch.bin"));
}

// Returns the files of the split: every data_batch_N.bin, or a single file.
std::vector<std::string> files_of(const std::string& directory, const std::string& split) {
  if (is_cifar100(directory)) return {join_path(directory, split + ".bin")};
  if (split == "test") return {join_path(directory, "test_batch.bin")};
  std::vector<std::string> files;
  for (int i = 1; has(directory, str_cat("data_batch_", i, ".bin")); ++i) {
    files.push_back(join_path(directory, str_cat("data_batch_", i, ".bin")));
  }
  if (files.empty()) files.push_back(join_path(directory, "data_batch_1.bin"));
  return files;
}

}  // namespace

bool looks_like_cifar(const std::string& directory) {
  return has(directory, "data_batch_1.bin") || has(directory, "test_batch.bin") || is_cifar100(directory);
}

// A record: one label byte (CIFAR-100: coarse, then fine), then 1024 red, 1024 green, 1024 blue bytes.
Result<std::unique_ptr<Dataset>> open_cifar(const std::string& directory, const DatasetOptions& options) {
  const bool hundred = is_cifar100(directory);
  const std::int64_t label_bytes = hundred ? 2 : 1;
  const std::int64_t record = label_bytes + 3 * kPixels;
  std::string all;
  for (const std::string& path : files_of(directory, options.split)) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, read_file(path, kMostBytes));
    if (bytes.empty() || static_cast<std::int64_t>(bytes.size()) % record != 0) {
      return data_loss("CIFAR file ", path, " has ", bytes.size(), " bytes, which is not a whole number of records of ",
                       record)
          .with_id("ARG-DATA-007");
    }
    all += bytes;
  }
  const std::int64_t n = static_cast<std::int64_t>(all.size()) / record;
  ARGOSY_ASSIGN_OR_RETURN(const Tensor images, Tensor::allocate(DType::kUint8, {n, 32, 32, 3}, host_allocator()));
  std::vector<std::uint8_t> label(static_cast<std::size_t>(n));
  auto* to = images.data<std::uint8_t>();
  for (std::int64_t i = 0; i < n; ++i) {
    const char* from = all.data() + i * record;
    label[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(from[label_bytes - 1]);
    if (label[static_cast<std::size_t>(i)] >= (hundred ? 100 : 10)) {
      return data_loss("CIFAR record ", i, " of ", directory, " has label ", int{label[static_cast<std::size_t>(i)]})
          .with_id("ARG-DATA-007");
    }
    from += label_bytes;
    for (std::int64_t p = 0; p < kPixels; ++p) {
      for (std::int64_t channel = 0; channel < 3; ++channel) {
        *to++ = static_cast<std::uint8_t>(from[channel * kPixels + p]);
      }
    }
  }
  return make_array_dataset(
      str_cat("CIFAR-", hundred ? 100 : 10, " ", options.split, ", ", n, " examples from ", directory),
      {{"image", images, ByteScale{}}, {"label", labels_from_bytes(label).values}}, hundred ? 100 : 10);
}

}  // namespace argosy::data
