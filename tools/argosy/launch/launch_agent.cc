#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "argosy/base/system/file.h"
#include "argosy/cluster/launch/launch_plan.h"
#include "argosy/device/device.h"
#include "argosy/rpc/gate/descriptor.h"
#include "tools/argosy/cli/descendants.h"
#include "tools/argosy/launch/agent.h"
#include "tools/argosy/launch/frames.h"

namespace argosy::cli {

namespace {

using Json = nlohmann::ordered_json;
using Time = std::chrono::steady_clock::time_point;
using tf::Descriptor;

constexpr std::chrono::seconds kGrace{2};         // between SIGTERM and SIGKILL once the launcher is gone
constexpr std::chrono::milliseconds kDrain{300};  // for output of those that the task left behind
constexpr std::size_t kMostUnsent = 1 << 20;      // for a launcher that does not read: then the task waits
constexpr std::int64_t kMostErrorBytes = 64 << 10;

struct Pipe {
  Descriptor read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable("no pipe: ", std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// One line of the launcher's, read byte by byte: what follows it are other orders.
Result<std::string> first_line() {
  std::string line;
  char c = 0;
  while (true) {
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return unavailable("the launcher is gone before it said what to run");
    if (c == '\n') return line;
    line += c;
    if (line.size() > 16u << 20) return data_loss("a line without an end");
  }
}

// The child: its own group, ended with its parent, with these variables and streams. Never returns.
[[noreturn]] void become(const AgentTask& task, const std::string& error_file, int out, int err, pid_t agent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != agent) ::_exit(127);  // it died before that
  ::setpgid(0, 0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ}) ::signal(number, SIG_DFL);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  const auto give_up = [](const std::string& what) {
    const std::string text = str_cat("argosy launch: ", what, ": ", std::strerror(errno), "\n");
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(errno == ENOENT ? 127 : 126);
  };
  for (const auto& [name, value] : process_environment()) {
    if (is_launcher_variable(name)) ::unsetenv(name.c_str());
  }
  for (const auto& [name, value] : task.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (!error_file.empty()) ::setenv("ARGOSY_ERROR_FILE", error_file.c_str(), 1);
  if (!task.directory.empty() && ::chdir(task.directory.c_str()) != 0) give_up(task.directory);
  std::vector<char*> words;
  for (const std::string& word : task.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  give_up(task.words[0]);
  ::_exit(127);
}

class Agent {
 public:
  Result<int> run() {
    ARGOSY_ASSIGN_OR_RETURN(const std::string line, first_line());
    ARGOSY_ASSIGN_OR_RETURN(AgentTask task, parse_agent_task(line));
    ::signal(SIGPIPE, SIG_IGN);
    // Orders come while the launcher does not read. sshd may give both ends as one socket.
    const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
    ::fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK);
    adopt_orphans();
    ARGOSY_RETURN_IF_ERROR(prepare(task));
    ARGOSY_RETURN_IF_ERROR(start(task));
    while (!done()) turn();
    finish();
    while (!unsent_.empty() && (input_open_ || std::chrono::steady_clock::now() < kill_at_)) turn();
    ::fcntl(STDOUT_FILENO, F_SETFL, flags);
    return 0;
  }

 private:
  Status prepare(AgentTask& task) {
    if (is_argosy(task.words[0])) {
      if (task.words[0] == "argosy") task.words[0] = "/proc/self/exe";
      char exe[4096];
      const ssize_t n = ::readlink(task.words[0].c_str(), exe, sizeof exe);
      if (n > 0) task.words[0] = std::string(exe, static_cast<std::size_t>(n));
      if (task.devices > 0) {
        int gpus = 0;
        if (const auto devices = list_devices(DeviceRequest{}); devices.ok()) {
          for (const DeviceSpec& device : *devices) gpus += device.is_gpu() ? 1 : 0;
        }
        task.words = with_devices(task.words, task.devices, gpus);
      }
    }
    if (!task.errors) return ok_status();
    char name[] = "/tmp/argosy_error_XXXXXX";
    const Descriptor file(::mkstemp(name));
    if (file.get() < 0) return ok_status();  // no file of errors; all else works
    error_file_ = name;
    return ok_status();
  }

  Status start(const AgentTask& task) {
    ARGOSY_ASSIGN_OR_RETURN(Pipe out, make_pipe());
    ARGOSY_ASSIGN_OR_RETURN(Pipe err, make_pipe());
    const pid_t agent = ::getpid();
    child_ = ::fork();
    if (child_ < 0) return unavailable("no process: ", std::strerror(errno));
    if (child_ == 0) become(task, error_file_, out.write.get(), err.write.get(), agent);
    ::setpgid(child_, child_);
    out_ = std::move(out.read);
    err_ = std::move(err.read);
    send(FrameKind::kHello, std::to_string(child_));
    return ok_status();
  }

  bool done() const {
    if (!ended_) return false;
    const bool dry = out_.get() < 0 && err_.get() < 0;
    if (!dry && !has_room() && input_open_) return false;
    return dry || std::chrono::steady_clock::now() - ended_at_ > kDrain;
  }

  bool has_room() const { return unsent_.size() < kMostUnsent; }

  void turn() {
    constexpr int kMillis = 20;
    const bool room = has_room();
    if (ended_ && !room && input_open_) ended_at_ = std::chrono::steady_clock::now();
    pollfd files[4] = {{input_open_ ? STDIN_FILENO : -1, POLLIN, 0},
                       {room ? out_.get() : -1, POLLIN, 0},
                       {room ? err_.get() : -1, POLLIN, 0},
                       {unsent_.empty() ? -1 : STDOUT_FILENO, POLLOUT, 0}};
    (void)::poll(files, 4, kMillis);
    if (files[1].revents != 0) forward(out_, FrameKind::kOut);
    if (files[2].revents != 0) forward(err_, FrameKind::kErr);
    if (files[3].revents != 0) flush();
    if (files[0].revents != 0) take_orders();
    if (!input_open_ && !ended_ && std::chrono::steady_clock::now() > kill_at_) end_all();
    int status = 0;
    if (!ended_ && ::waitpid(child_, &status, WNOHANG) == child_) {
      ended_ = true;
      status_ = status;
      ended_at_ = std::chrono::steady_clock::now();
    }
  }

  void forward(Descriptor& from, FrameKind kind) {
    char bytes[64 << 10];
    const ssize_t n = ::read(from.get(), bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) return from.reset();
    send(kind, {bytes, static_cast<std::size_t>(n)});
  }

  void send(FrameKind kind, std::string_view bytes) {
    unsent_ += make_frame(kind, bytes);
    flush();
  }

  // As much as the launcher takes now.
  void flush() {
    std::size_t sent = 0;
    while (sent < unsent_.size()) {
      const ssize_t n = ::write(STDOUT_FILENO, unsent_.data() + sent, unsent_.size() - sent);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n <= 0) {  // it is gone
        unsent_.clear();
        return close_input();
      }
      sent += static_cast<std::size_t>(n);
    }
    unsent_.erase(0, sent);
  }

  // "signal 15" a line; the end of the input is the launcher's.
  void take_orders() {
    char bytes[256];
    const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) return close_input();
    orders_.append(bytes, static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = orders_.find('\n')) != std::string::npos; orders_.erase(0, end + 1)) {
      const std::string order = orders_.substr(0, end);
      const int number = order.starts_with("signal ") ? std::atoi(order.c_str() + 7) : 0;
      if (number <= 0 || number >= NSIG || ended_) continue;
      if (number == SIGKILL) {
        end_all();
      } else {
        ::kill(-child_, number);
      }
    }
  }

  void close_input() {
    if (!input_open_) return;
    input_open_ = false;
    kill_at_ = std::chrono::steady_clock::now() + kGrace;
    if (!ended_) ::kill(-child_, SIGTERM);
  }

  void end_all() {
    ::kill(-child_, SIGKILL);
    kill_descendants();
    kill_at_ = std::chrono::steady_clock::now() + kGrace;
  }

  void finish() {
    kill_descendants();
    Json report = {{"exit", WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_)},
                   {"signal", WIFSIGNALED(status_) ? WTERMSIG(status_) : 0}};
    if (!error_file_.empty()) {
      const auto text = read_file(error_file_, kMostErrorBytes);
      const Json error = text.ok() ? Json::parse(*text, nullptr, false) : Json();
      if (error.is_object()) report["error"] = error;
      (void)remove_file(error_file_);
    }
    send(FrameKind::kExit, report.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  pid_t child_ = -1;
  Descriptor out_, err_;
  std::string error_file_, orders_, unsent_;
  bool input_open_ = true, ended_ = false;
  int status_ = 0;
  Time kill_at_{}, ended_at_{};
};

}  // namespace

std::string to_line(const AgentTask& task) {
  Json environment = Json::object();
  for (const auto& [name, value] : task.environment) environment[name] = value;
  return Json{{"words", task.words},
              {"environment", environment},
              {"directory", task.directory},
              {"devices", task.devices},
              {"errors", task.errors}}
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

Result<AgentTask> parse_agent_task(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  const auto wrong = [] {
    return invalid_argument("argosy launch --agent reads from a launcher what it runs, not this")
        .with_id("ARG-CLUSTER-052")
        .with_hint("argosy launch -H gpu-a:4 -- argosy train lenet");
  };
  if (!json.is_object() || !json.contains("words") || !json["words"].is_array() || json["words"].empty())
    return wrong();
  AgentTask task;
  for (const Json& word : json["words"]) {
    if (!word.is_string()) return wrong();
    task.words.push_back(word.get<std::string>());
  }
  if (const auto at = json.find("environment"); at != json.end() && at->is_object()) {
    for (const auto& [name, value] : at->items()) {
      if (value.is_string()) task.environment[name] = value.get<std::string>();
    }
  }
  if (const auto at = json.find("directory"); at != json.end() && at->is_string())
    task.directory = at->get<std::string>();
  if (const auto at = json.find("devices"); at != json.end() && at->is_number_integer()) task.devices = at->get<int>();
  if (const auto at = json.find("errors"); at != json.end() && at->is_boolean()) task.errors = at->get<bool>();
  return task;
}

bool is_argosy(const std::string& word) { return word == "argosy" || word.ends_with("/argosy"); }

std::vector<std::string> with_devices(const std::vector<std::string>& words, int devices, int gpus_here) {
  constexpr std::string_view kTakers[] = {"train", "run", "serve"};
  constexpr std::string_view kFlags[] = {"--gpus", "--devices", "--emulate"};
  if (words.size() < 2 || std::find(std::begin(kTakers), std::end(kTakers), words[1]) == std::end(kTakers))
    return words;
  for (std::size_t i = 2; i < words.size() && words[i] != "--"; ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (std::find(std::begin(kFlags), std::end(kFlags), name) != std::end(kFlags)) return words;
  }
  std::vector<std::string> more = {words[0], words[1], gpus_here >= devices ? "--gpus" : "--emulate",
                                   std::to_string(devices)};
  more.insert(more.end(), words.begin() + 2, words.end());
  return more;
}

Result<int> run_agent() { return Agent().run(); }

}  // namespace argosy::cli
