#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "argosy/rpc/gate/descriptor.h"
#include "tools/argosy/cli/descendants.h"
#include "tools/argosy/launch/frames.h"
#include "tools/argosy/launch/launcher.h"

namespace argosy::cli {

namespace {

using Clock = std::chrono::steady_clock;
using tf::Descriptor;

constexpr std::chrono::milliseconds kSettle{1000};   // after the first failure: the others find out by themselves
constexpr std::chrono::milliseconds kGrace{5000};    // then SIGTERM, then SIGKILL
constexpr std::chrono::seconds kToSave{30};          // after Ctrl-C: for a checkpoint; then SIGKILL
constexpr std::chrono::milliseconds kSameWish{500};  // timeout signals a process and its group
constexpr std::chrono::milliseconds kUnread{
    2000};  // after Ctrl-C: a console that takes nothing for so long is given up
constexpr std::size_t kLastWords = 2048;
constexpr std::size_t kPipeBytes = 64 << 10;  // that a pipe takes before somebody reads
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

struct Agent {
  pid_t pid = -1;
  Descriptor in, out, err;
  FrameReader reader;
  TaskOutcome outcome;
  bool remote = false;              // started by ssh
  bool answered = false;            // a frame of it came
  bool told = false, over = false;  // its last frame came; the process is gone
};

// Signals as something to poll, while it lives.
class SignalFile {
 public:
  SignalFile() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : kSignals) sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    file_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SignalFile() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalFile(const SignalFile&) = delete;
  SignalFile& operator=(const SignalFile&) = delete;
  int get() const { return file_.get(); }
  int next() {
    signalfd_siginfo info;
    return ::read(file_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
  Descriptor file_;
};

void keep_end(std::string& text, std::string_view more) {
  text += more;
  if (text.size() > kLastWords) text.erase(0, text.size() - kLastWords);
}

Status no_process() {
  return resource_exhausted("the system gives no process or pipe: ", std::strerror(errno))
      .with_id("ARG-THREAD-001")
      .with_where("argosy launch");
}

void send(const Agent& agent, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(agent.in.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // it is gone
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// The child: an agent, or ssh to one. Never returns.
[[noreturn]] void become(const std::vector<std::string>& command, int in, int out, int err, const sigset_t& signals) {
  ::setpgid(0, 0);  // Ctrl-C comes to the launcher, and is passed on once
  // ssh ends with us, and its connection with it; our own agents see the end of their input.
  if (command[0] == "ssh") ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const std::string text = str_cat(command[0], ": ", std::strerror(errno), "\n");
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(127);
}

// `signals`: the mask that it gets.
Result<std::unique_ptr<Agent>> start_agent(const LaunchedTask& task, const sigset_t& signals) {
  int in[2], out[2], err[2];
  if (::pipe2(in, O_CLOEXEC) != 0) return no_process();
  auto agent = std::make_unique<Agent>();
  agent->in = Descriptor(in[1]);
  const Descriptor their_in(in[0]);
  if (::pipe2(out, O_CLOEXEC) != 0) return no_process();
  agent->out = Descriptor(out[0]);
  const Descriptor their_out(out[1]);
  if (::pipe2(err, O_CLOEXEC) != 0) return no_process();
  agent->err = Descriptor(err[0]);
  const Descriptor their_err(err[1]);
  agent->outcome.rank = task.place.rank;
  agent->outcome.host = task.place.host;
  agent->remote = task.agent[0] == "ssh";
  agent->pid = ::fork();
  if (agent->pid < 0) return no_process();
  if (agent->pid == 0) become(task.agent, their_in.get(), their_out.get(), their_err.get(), signals);
  const std::string line = to_line(task.task);
  // ssh reads it once it is connected, which may be never.
  if (line.size() > kPipeBytes) ::fcntl(agent->in.get(), F_SETPIPE_SZ, 1 << 20);
  send(*agent, line);
  return agent;
}

class Launcher {
 public:
  Launcher(const std::vector<LaunchedTask>& tasks, Streams& streams) : tasks_(tasks), streams_(streams) {}

  Result<LaunchEnd> run() {
    ::signal(SIGPIPE, SIG_IGN);
    adopt_orphans();
    for (const LaunchedTask& task : tasks_) {
      ARGOSY_ASSIGN_OR_RETURN(agents_.emplace_back(), start_agent(task, signals_.before()));
    }
    while (!streams_.written() || std::any_of(agents_.begin(), agents_.end(), [](const auto& a) { return !a->over; })) {
      turn();
    }
    if (lost_here_) kill_descendants();
    std::vector<TaskOutcome> outcomes;
    for (const auto& agent : agents_) outcomes.push_back(agent->outcome);
    return end_of_launch(outcomes, asked_);
  }

 private:
  // While nobody reads the console, output stays with the tasks, as if they wrote to it themselves. Signals do not wait.
  void turn() {
    constexpr int kMillis = 50, kMillisOfReader = 2;
    const bool held = streams_.full();
    const bool last = std::all_of(agents_.begin(), agents_.end(), [](const auto& a) { return a->over; });
    std::vector<pollfd> files = {{signals_.get(), POLLIN, 0}};
    for (const auto& agent : agents_) {
      files.push_back({held ? -1 : agent->out.get(), POLLIN, 0});
      files.push_back({held ? -1 : agent->err.get(), POLLIN, 0});
    }
    (void)::poll(files.data(), files.size(), held || last ? kMillisOfReader : kMillis);
    if (files[0].revents != 0) {
      for (int number = 0; (number = signals_.next()) != 0;) wish(number);
    }
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      if (files[1 + 2 * i].revents != 0) read_frames(*agents_[i]);
      if (files[2 + 2 * i].revents != 0) read_words(*agents_[i]);
      check_end(*agents_[i]);
    }
    enforce();
  }

  void read_frames(Agent& agent) {
    char bytes[64 << 10];
    const ssize_t n = ::read(agent.out.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) return agent.out.reset();
    const Status status = agent.reader.feed({bytes, static_cast<std::size_t>(n)},
                                            [&](FrameKind kind, std::string_view body) { take(agent, kind, body); });
    if (status.ok()) return;
    keep_end(agent.outcome.agent_words, status.message());
    agent.out.reset();
  }

  void take(Agent& agent, FrameKind kind, std::string_view body) {
    TaskOutcome& outcome = agent.outcome;
    agent.answered = true;
    switch (kind) {
      case FrameKind::kHello: return;
      case FrameKind::kOut: return streams_.write(outcome.rank, false, body);
      case FrameKind::kErr: keep_end(outcome.last_words, body); return streams_.write(outcome.rank, true, body);
      case FrameKind::kExit: {
        if (read_exit(body, outcome)) ended(agent);
        return;
      }
    }
  }

  // What ssh and the agent itself say.
  void read_words(Agent& agent) {
    char bytes[4096];
    const ssize_t n = ::read(agent.err.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) return agent.err.reset();
    const std::string_view words(bytes, static_cast<std::size_t>(n));
    keep_end(agent.outcome.agent_words, words);
    streams_.write(agent.outcome.rank, true, words);
  }

  // What lies in the pipe; others may hold its end (a master connection of ssh), so it is not read to the end.
  void read_last_words(Agent& agent) {
    for (pollfd file{agent.err.get(), POLLIN, 0}; agent.err.get() >= 0 && ::poll(&file, 1, 0) > 0;) read_words(agent);
  }

  void ended(Agent& agent) {
    if (agent.told) return;
    agent.told = true;
    agent.outcome.order = order_++;
    agent.outcome.ended_by_us = sent_term_ || asked_ != 0;
    if (agent.outcome.failed() && !failed_) {
      failed_ = true;
      failed_at_ = Clock::now();
    }
    streams_.end(agent.outcome);
  }

  void check_end(Agent& agent) {
    if (agent.over || agent.out.get() >= 0) return;
    int status = 0;
    if (::waitpid(agent.pid, &status, WNOHANG) != agent.pid) return;
    agent.over = true;
    if (agent.told) return;
    // No last frame: ssh could not connect, or the agent was killed.
    lost_here_ = lost_here_ || !agent.remote;
    read_last_words(agent);
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    agent_ended(signal != 0 ? 0 : WEXITSTATUS(status), signal, agent.remote, agent.answered, agent.outcome);
    ended(agent);
  }

  void order(int number) {
    for (const auto& agent : agents_) {
      if (!agent->told) send(*agent, str_cat("signal ", number, "\n"));
    }
  }

  void wish(int number) {
    const bool end = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
    if (!end) return order(number);
    const auto now = Clock::now();
    if (asked_ != 0 && now - asked_at_ > kSameWish) return kill_all();
    if (asked_ != 0) return;
    asked_ = number;
    asked_at_ = now;
    order(number);
    // A host that has not answered has nothing to save, and hears no order.
    for (const auto& agent : agents_) {
      if (agent->remote && !agent->answered && !agent->over) ::kill(agent->pid, SIGTERM);
    }
  }

  void kill_all() {
    if (!sent_kill_) killed_at_ = Clock::now();
    sent_kill_ = true;
    order(SIGKILL);
  }

  // Of a host that is silent: ssh, which waits for it, is ended. What runs there ends with its connection.
  void give_up_agents() {
    for (const auto& agent : agents_) {
      if (agent->over) continue;
      ::kill(agent->pid, SIGKILL);
      agent->out.reset();
      lost_here_ = lost_here_ || !agent->remote;
    }
  }

  // Once one has failed the others end: by themselves, by SIGTERM, by SIGKILL. So do those that were asked to end.
  void enforce() {
    const auto now = Clock::now();
    if (asked_ != 0) streams_.give_up_unread(asked_at_, kUnread);
    if (asked_ != 0 && !sent_kill_ && now - asked_at_ > kToSave) kill_all();
    if (sent_kill_ && now - killed_at_ > kGrace) give_up_agents();
    if (!failed_) return;
    if (!sent_term_ && now - failed_at_ > kSettle) {
      sent_term_ = true;
      order(SIGTERM);
      order(SIGCONT);
    }
    if (!sent_kill_ && now - failed_at_ > kSettle + kGrace) kill_all();
  }

  const std::vector<LaunchedTask>& tasks_;
  Streams& streams_;
  SignalFile signals_;
  std::vector<std::unique_ptr<Agent>> agents_;
  int order_ = 0, asked_ = 0;
  bool failed_ = false, sent_term_ = false, sent_kill_ = false;
  bool lost_here_ = false;  // an agent of this host was killed: what its task had started is ours now
  Clock::time_point failed_at_{}, asked_at_{}, killed_at_{};
};

}  // namespace

Result<LaunchEnd> run_tasks(const std::vector<LaunchedTask>& tasks, const StreamOptions& options) {
  std::vector<int> ranks;
  for (const LaunchedTask& task : tasks) ranks.push_back(task.place.rank);
  ARGOSY_ASSIGN_OR_RETURN(const std::unique_ptr<Streams> streams, Streams::open(options, ranks, 0));
  return Launcher(tasks, *streams).run();
}

}  // namespace argosy::cli
