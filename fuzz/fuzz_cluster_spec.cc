// A cluster as JSON, and TF_CONFIG: a spec that is written and read again the same, or an error that says where.
#include "argosy/base/check.h"
#include "argosy/cluster/cluster_spec.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = argosy::as_text(data, size);
  if (const auto spec = argosy::ClusterSpec::parse(text); spec.ok()) {
    const auto again = argosy::ClusterSpec::parse(spec->to_json());
    ARGOSY_CHECK(again.ok() && *again == *spec);
    const auto tasks = spec->tasks();
    ARGOSY_CHECK(!tasks.empty());
    for (const argosy::TaskName& task : tasks) ARGOSY_CHECK(task.task >= 0 && spec->address(task) != nullptr);
  } else {
    ARGOSY_CHECK(spec.status().id() == "ARG-CLUSTER-001" && !spec.status().message().empty());
  }
  if (const auto config = argosy::TfConfig::parse(text); config.ok() && config->task) {
    ARGOSY_CHECK(config->task->task >= 0 && !config->task->to_string().empty());
  }
  return 0;
}
