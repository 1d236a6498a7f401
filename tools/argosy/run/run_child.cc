#include "tools/argosy/run/run_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <thread>

#include "tools/argosy/cli/descendants.h"

namespace argosy::cli {

namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
std::atomic<pid_t> child{0};  // a signal handler sees nothing else

// timeout signals the process and its group: the same signal twice, which the child is to see once from here.
constexpr std::int64_t kSameWishNanos = 500'000'000;
std::atomic<std::int64_t> forwarded_at[NSIG];

// When the first SIGINT or SIGTERM asked for the end, and whether a second one did: monotonic nanoseconds, 0: none.
std::atomic<std::int64_t> end_asked_at{0};
std::atomic<bool> end_now{false};

std::int64_t nanos_now() {  // what a handler may call
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

void forward(int signal, siginfo_t* info, void*) {
  const std::int64_t nanos = nanos_now();
  if (signal == SIGINT || signal == SIGTERM) {
    std::int64_t none = 0;
    if (!end_asked_at.compare_exchange_strong(none, nanos) && nanos - none > kSameWishNanos) end_now = true;
  }
  const pid_t to = child.load(std::memory_order_relaxed);
  if (to <= 0 || info->si_code > 0) return;  // the terminal's, not a user's
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

// Ends the child and all that it started when its time is over, while it lives.
class Bound {
 public:
  explicit Bound(std::chrono::seconds grace)
      : thread_([this, grace] {
          while (!over_) {
            const std::int64_t asked = end_asked_at;
            if (end_now || (asked != 0 && nanos_now() - asked > std::chrono::nanoseconds(grace).count())) {
              kill_descendants();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
        }) {}
  ~Bound() {
    over_ = true;
    thread_.join();
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// Starts it, to be killed when this thread's process ends, by SIGKILL too: what it would go on with is a server that is gone.
// An error number where it cannot be started. Its signal handlers are the default ones, but for what we ignore.
int start_child(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  const std::vector<char*> arguments = pointers(words), variables = pointers(environment);
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) return errno;
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {  // no lock may be taken here: other threads had them
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::signal(SIGXFSZ, SIG_DFL);
    for (const int number : kForwarded) ::signal(number, SIG_DFL);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::execvpe(arguments[0], arguments.data(), variables.data());
    const int why = errno;
    (void)!::write(failure[1], &why, sizeof why);
    ::_exit(127);
  }
  int why = pid < 0 ? errno : 0;
  if (pid > 0) child = pid;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  (void)::close(failure[1]);
  if (pid > 0) {
    while (::read(failure[0], &why, sizeof why) < 0 && errno == EINTR) {
    }
  }
  (void)::close(failure[0]);
  if (why != 0 && pid > 0) {
    child = 0;  // signals have nobody to go to
    (void)::waitpid(pid, nullptr, 0);
  }
  return why;
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  const Forwarding forwarding;
  adopt_orphans();
  if (const int failed = start_child(words, environment); failed != 0) {
    return not_found("\"", words[0], "\" could not be started: ", std::strerror(failed))
        .with_where("argosy run")
        .with_hint("argosy run -- python3 train.py");
  }
  const pid_t pid = child;
  const Bound bound(kScriptGrace);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return internal_error("waiting for the program: ", std::strerror(errno));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace argosy::cli
