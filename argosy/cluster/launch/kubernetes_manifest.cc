#include <algorithm>
#include <nlohmann/json.hpp>

#include "argosy/cluster/launch/scheduler_commands.h"

namespace argosy {

namespace {

// A name of Kubernetes: lower case, digits and "-"; with "-<index>" behind it at most 63 characters.
bool is_label(const std::string& name) {
  const auto plain = [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-'; };
  return !name.empty() && name.size() <= 52 && std::islower(static_cast<unsigned char>(name.front())) != 0 &&
         name.back() != '-' && std::all_of(name.begin(), name.end(), plain);
}

// YAML reads JSON's texts.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string list(const std::vector<std::string>& words) {
  std::vector<std::string> items;
  for (const std::string& word : words) items.push_back(quoted(word));
  return str_cat("[", str_join(items), "]");
}

}  // namespace

Result<std::string> kubernetes_manifest(const SchedulerJob& job) {
  if (!is_label(job.name)) {
    return invalid_argument("\"", job.name,
                            "\" is no name of Kubernetes: lower-case letters, digits and \"-\", at most 52")
        .with_id("ARG-CLUSTER-050")
        .with_where("--name")
        .with_hint("--name lenet");
  }
  if (job.image.empty()) {
    return invalid_argument("no image: a manifest names the container that holds the program")
        .with_id("ARG-CLUSTER-050")
        .with_where("--image")
        .with_hint("--image registry.example/argosy:0.2");
  }
  const int tasks = job.nodes * job.tasks_of_node;
  const std::string gpus =
      job.devices_of_node == 0
          ? ""
          : str_cat("          resources:\n            limits:\n              nvidia.com/gpu: ", job.devices_of_node,
                    "\n");
  std::string variables;
  for (const auto& [name, value] : job.variables) {
    variables += str_cat("            - name: ", name, "\n              value: ", quoted(value), "\n");
  }
  return str_cat(
      "# kubectl apply -f - ; kubectl logs -f job/", job.name, "\n",
      "apiVersion: v1\nkind: Secret\nmetadata:\n  name: ", job.name,
      "-token\ntype: Opaque\nstringData:\n  token: ", quoted(job.token), "\n---\n", "# Names for the pods: ", job.name,
      "-0.", job.name, "\n", "apiVersion: v1\nkind: Service\nmetadata:\n  name: ", job.name,
      "\nspec:\n  clusterIP: None\n  publishNotReadyAddresses: true\n  selector:\n    job-name: ", job.name, "\n---\n",
      "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: ", job.name,
      "\nspec:\n  completionMode: Indexed\n  completions: ", tasks, "\n  parallelism: ", tasks, "\n  backoffLimit: 6\n",
      "  podFailurePolicy:\n    rules:\n",
      "      - action: FailJob  # a flag or a file is wrong: starting again does not help\n",
      "        onExitCodes:\n          containerName: task\n          operator: In\n          values: [2, 3]\n",
      "      - action: Ignore  # the node was drained: it does not count\n",
      "        onPodConditions:\n          - type: DisruptionTarget\n            status: \"True\"\n",
      "      - action: Count  # interrupted after a checkpoint, or a peer was lost: again\n",
      "        onExitCodes:\n          containerName: task\n          operator: In\n          values: [5, 75]\n",
      "  template:\n    metadata:\n      labels:\n        job-name: ", job.name,
      "\n    spec:\n      subdomain: ", job.name,
      "\n      restartPolicy: Never\n      terminationGracePeriodSeconds: 120  # time to write a checkpoint\n",
      "      containers:\n        - name: task\n          image: ", quoted(job.image),
      "\n          command: ", list(job.program), "\n          ports:\n            - containerPort: ", job.port, "\n",
      gpus, "          env:\n", "            - name: ARGOSY_TASKS\n              value: \"", tasks, "\"\n",
      "            - name: ARGOSY_SERVICE\n              value: ", quoted(job.name), "\n",
      "            - name: MASTER_PORT\n              value: \"", job.port, "\"\n",
      "            - name: ARGOSY_INSECURE_CLUSTER\n              value: \"0.0.0.0/0\"  # who may reach the pods: "
      "NetworkPolicy\n",
      variables,
      "            - name: ARGOSY_JOB_TOKEN\n              valueFrom:\n                secretKeyRef:\n                 "
      " name: ",
      job.name, "-token\n                  key: token\n");
}

}  // namespace argosy
