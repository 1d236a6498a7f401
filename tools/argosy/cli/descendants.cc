#include "tools/argosy/cli/descendants.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace argosy::cli {

namespace {

// Parents by process; those that have ended and wait to be asked how are left out.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    pid_t pid = 0;
    const auto [rest, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed != std::errc() || rest != name.data() + name.size()) continue;
    std::ifstream file(it->path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t after_name = text.rfind(')');  // the name may hold anything
    if (after_name == std::string::npos) continue;
    std::istringstream fields(text.substr(after_name + 1));
    char state = 'Z';
    pid_t parent = 0;
    if (fields >> state >> parent && state != 'Z' && state != 'X') found[pid] = parent;
  }
  return found;
}

}  // namespace

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void kill_descendants() {
  constexpr int kRounds = 20;  // a process may start others while this looks
  for (int round = 0; round < kRounds; ++round) {
    const std::map<pid_t, pid_t> all = parents();
    std::vector<pid_t> family = {::getpid()};
    for (std::size_t i = 0; i < family.size(); ++i) {
      for (const auto& [pid, parent] : all) {
        if (parent == family[i]) family.push_back(pid);
      }
    }
    if (family.size() == 1) return;
    for (std::size_t i = 1; i < family.size(); ++i) ::kill(family[i], SIGKILL);
    ::usleep(1000);
  }
}

}  // namespace argosy::cli
