#include "tools/argosy/run_child.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>

namespace argosy::cli {

namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
std::atomic<pid_t> child{0};  // a signal handler sees nothing else

// timeout signals the process and its group: the same signal twice, which the child is to see once from here.
constexpr std::int64_t kSameWishNanos = 200'000'000;
std::atomic<std::int64_t> forwarded_at[NSIG];

void forward(int signal, siginfo_t* info, void*) {
  const pid_t to = child.load(std::memory_order_relaxed);
  if (to <= 0 || info->si_code > 0) return;  // the terminal's, not a user's
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t nanos = now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  const std::int64_t before = forwarded_at[signal].load(std::memory_order_relaxed);
  const bool repeats = signal == SIGUSR1 || signal == SIGUSR2;  // each may mean something
  if (!repeats && before != 0 && nanos - before < kSameWishNanos) return;
  forwarded_at[signal].store(nanos, std::memory_order_relaxed);
  ::kill(to, signal);
}

// While it lives, signals go to the child.
class Forwarding {
 public:
  Forwarding() {
    struct sigaction action = {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < std::size(kForwarded); ++i) ::sigaction(kForwarded[i], &action, &before_[i]);
  }
  ~Forwarding() {
    child = 0;
    for (std::size_t i = 0; i < std::size(kForwarded); ++i) ::sigaction(kForwarded[i], &before_[i], nullptr);
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;

 private:
  struct sigaction before_[std::size(kForwarded)];
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  const Forwarding forwarding;
  pid_t pid = 0;
  // The handlers are ours alone: exec gives the child the default ones, but for what we ignore.
  posix_spawnattr_t attributes;
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int failed = ::posix_spawnp(&pid, words[0].c_str(), nullptr, &attributes, pointers(words).data(),
                                    pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return not_found("\"", words[0], "\" could not be started: ", std::strerror(failed))
        .with_where("argosy run")
        .with_next("argosy run -- python3 train.py");
  }
  child = pid;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return internal_error("waiting for the program: ", std::strerror(errno));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace argosy::cli
