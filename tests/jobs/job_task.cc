// A task for tests: joins its job as the environment says, and takes steps, each with a barrier of all tasks. Prints lines
// of JSON: {"joined": …}, and at the end {"ended": …} with the cause. Exit codes are those of the argosy program.
//
//   job_task [--steps N] [--step-ms N] [--fail-at N] [--fail-rank N] [--slow-rank N] [--version V] [--option V]
//            [--heartbeat-ms N] [--stuck-after-ms N] [--spawn]
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "argosy/cluster/environment/find_place.h"
#include "argosy/cluster/join_job.h"
#include "tools/argosy/cli/error_json.h"
#include "tools/argosy/cli/exit_code.h"

namespace argosy {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

void print(const Json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class Words {
 public:
  Words(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) words_[argv[i]] = argv[i + 1];
  }
  int number(const char* name, int otherwise) const {
    const auto at = words_.find(name);
    return at == words_.end() ? otherwise : std::atoi(at->second.c_str());
  }
  std::string text(const char* name, const char* otherwise) const {
    const auto at = words_.find(name);
    return at == words_.end() ? otherwise : at->second;
  }

 private:
  std::map<std::string, std::string> words_;
};

Status take_steps(JobTasks& job, const Words& words) {
  const int slow = words.number("--slow-rank", -1);
  for (int step = 0; step < words.number("--steps", 10); ++step) {
    job.progress(step, "computes");
    std::this_thread::sleep_for(milliseconds(words.number("--step-ms", 10)));
    if (slow == job.rank()) std::this_thread::sleep_for(milliseconds(60'000));
    if (step == words.number("--fail-at", -1) && job.rank() == words.number("--fail-rank", 0)) {
      return job.fail(
          invalid_argument("the loss is nan at step ", step).with_where("node 'loss'").with_hint("--lr 0.1"));
    }
    ARGOSY_RETURN_IF_ERROR(job.barrier(str_cat("step ", step), milliseconds(120'000)));
  }
  return job.leave();
}

Status run(const Words& words, int& rank) {
  ARGOSY_ASSIGN_OR_RETURN(const JobPlace place, find_place(process_environment(), {}));
  rank = place.rank;
  JoinOptions options{.place = place,
                      .devices = {"cpu:0"},
                      .version = words.text("--version", "1"),
                      .program = {{"--option", words.text("--option", "1")}},
                      .heartbeat = milliseconds(words.number("--heartbeat-ms", 1000)),
                      .stuck_after = milliseconds(words.number("--stuck-after-ms", -1)),
                      .note = [](std::string_view line) { std::fprintf(stderr, "%s\n", std::string(line).c_str()); }};
  ARGOSY_ASSIGN_OR_RETURN(const std::unique_ptr<JobTasks> job, join_job(options));
  std::vector<std::string> hosts;
  for (const JobTask& task : job->tasks()) hosts.push_back(task.host);
  print({{"joined", job->size()},
         {"rank", rank},
         {"pid", ::getpid()},
         {"hosts", hosts},
         {"address", job->tasks()[0].address},
         {"source", place.source}});
  job->on_abort([&](const Status&) { print({{"aborted", unix_time()}, {"rank", rank}}); });
  return take_steps(*job, words);
}

}  // namespace
}  // namespace argosy

int main(int argc, char** argv) {
  int rank = -1;
  const argosy::Status status = argosy::run(argosy::Words(argc, argv), rank);
  argosy::Json line = {{"ended", argosy::unix_time()}, {"rank", rank}};
  if (!status.ok()) {
    const argosy::Json error = argosy::cli::error_json(status, "job_task");
    line["error"] = error;
    if (const char* path = std::getenv("ARGOSY_ERROR_FILE")) {
      if (std::FILE* file = std::fopen(path, "w")) {
        std::fputs(error.dump().c_str(), file);
        std::fclose(file);
      }
    }
  }
  argosy::print(line);
  return argosy::cli::exit_code(status);
}
