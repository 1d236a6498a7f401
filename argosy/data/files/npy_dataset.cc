#include "argosy/data/files/npy_dataset.h"

#include <algorithm>
#include <array>

#include "argosy/base/system/file.h"
#include "argosy/data/array_dataset.h"
#include "argosy/data/files/npy.h"

namespace argosy::data {

namespace {

constexpr std::string_view kSuffix = ".npy";

bool is_label(std::string_view name) {
  constexpr std::array kNames = {"y", "label", "labels", "target", "targets"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Returns one more than the largest value of an integer tensor; 0 for other dtypes, and if a value is negative.
int count_classes(const Tensor& labels) {
  if (labels.shape().rank() != 1 || !is_integer(labels.dtype()) || labels.elements() == 0) return 0;
  std::int64_t most = -1;
  bool negative = false;
  const Status counted = dispatch<IntegerTypes>(labels.dtype(), "labels", [&]<typename T>() {
    for (const T label : labels.values<T>()) {
      const auto value = static_cast<std::int64_t>(label);  // negative for the upper half of uint64, too
      negative = negative || value < 0;
      most = std::max(most, value);
    }
    return ok_status();
  });
  return counted.ok() && !negative && most < INT32_MAX ? static_cast<int>(most + 1) : 0;
}

}  // namespace

bool looks_like_npy(const std::string& directory) {
  const auto names = list_directory(directory);
  return names.ok() &&
         std::any_of(names->begin(), names->end(), [](const std::string& name) { return name.ends_with(kSuffix); });
}

Result<std::unique_ptr<Dataset>> open_npy_dataset(const std::string& directory, const DatasetOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(const auto files, list_directory(directory));
  std::vector<std::pair<std::string, std::string>> ours, common;  // component name, file
  bool split = false;
  for (const std::string& file : files) {
    if (!file.ends_with(kSuffix)) continue;
    const std::string name = file.substr(0, file.size() - kSuffix.size());
    const std::size_t bar = name.rfind('_');
    const std::string end = bar == std::string::npos ? "" : name.substr(bar + 1);
    split = split || end == "train" || end == "test";
    if (end == options.split) ours.emplace_back(name.substr(0, bar), file);
    common.emplace_back(name, file);
  }
  if (!split) ours = std::move(common);
  if (ours.empty()) return not_found(directory, " has no *_", options.split, ".npy").with_id("ARG-DATA-003");
  std::sort(ours.begin(), ours.end(), [](const auto& a, const auto& b) {
    return std::pair(is_label(a.first), a.first) < std::pair(is_label(b.first), b.first);
  });
  std::vector<ArrayComponent> components;
  int classes = 0;
  for (const auto& [name, file] : ours) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor values, read_npy(join_path(directory, file)));
    if (is_label(name)) classes = count_classes(values);
    components.push_back({name, std::move(values)});
  }
  return make_array_dataset(str_cat("npy ", options.split, ", ", ours.size(), " files from ", directory),
                            std::move(components), classes);
}

}  // namespace argosy::data
