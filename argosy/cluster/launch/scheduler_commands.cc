#include "argosy/cluster/launch/scheduler_commands.h"

#include <algorithm>

namespace argosy {

namespace {

std::string host_words(const std::vector<HostSlots>& hosts, int slots) {
  std::vector<std::string> words;
  for (const HostSlots& host : hosts) words.push_back(slots > 0 ? str_cat(host.host, ":", slots) : host.host);
  return str_join(words, ",");
}

bool is_plain(unsigned char c) {
  return std::isalnum(c) != 0 || std::string_view("-_./:=,@+%").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() &&
        std::all_of(word.begin(), word.end(), [](char c) { return is_plain(static_cast<unsigned char>(c)); })) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) c == '\'' ? line += "'\\''" : line += c;
    line += '\'';
  }
  return line;
}

std::vector<std::string> srun_command(const SchedulerJob& job) {
  std::vector<std::string> words = {"srun",
                                    str_cat("--nodes=", job.nodes),
                                    str_cat("--ntasks=", job.nodes * job.tasks_of_node),
                                    str_cat("--ntasks-per-node=", job.tasks_of_node),
                                    "--kill-on-bad-exit=1",
                                    "--export=ALL"};
  if (job.devices_of_node > 0) words.push_back(str_cat("--gpus-per-node=", job.devices_of_node));
  if (!job.hosts.empty()) words.push_back(str_cat("--nodelist=", host_words(job.hosts, 0)));
  words.insert(words.end(), job.program.begin(), job.program.end());
  return words;
}

std::vector<std::string> mpirun_command(const SchedulerJob& job, MpiKind kind, bool as_root) {
  const int tasks = job.nodes * job.tasks_of_node;
  std::vector<std::string> words = {"mpirun"};
  if (kind == MpiKind::kOpenMpi) {
    if (as_root) words.emplace_back("--allow-run-as-root");
    words.insert(words.end(), {"-np", std::to_string(tasks)});
    if (!job.hosts.empty()) words.insert(words.end(), {"--host", host_words(job.hosts, job.tasks_of_node)});
    // More tasks than cores, and one task that uses all of a host's cores, are both meant.
    words.insert(words.end(), {"--oversubscribe", "--bind-to", "none"});
    for (const std::string& name : job.passed_on) words.insert(words.end(), {"-x", name});
  } else {
    words.insert(words.end(), {"-n", std::to_string(tasks)});
    if (!job.hosts.empty()) words.insert(words.end(), {"-hosts", host_words(job.hosts, job.tasks_of_node)});
    words.emplace_back("-genvall");  // -genvlist would keep all others from tasks on other hosts
  }
  words.insert(words.end(), job.program.begin(), job.program.end());
  return words;
}

}  // namespace argosy
