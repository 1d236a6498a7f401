#include "argosy/train/tasks/run_tasks.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "argosy/base/mutex.h"
#include "argosy/base/str.h"
#include "argosy/comm/net/net_blobs.h"
#include "argosy/ops/collective/task_net.h"

namespace argosy {

namespace {

constexpr std::chrono::milliseconds kRendezvous{300'000};
// Tags of messages beside the steps. Numbers of the steps' collectives begin at 0.
constexpr std::uint32_t kFromFirst = 0x1fff'0000, kVote = 0x1fff'0001;

std::string write_devices(const std::vector<DeviceSpec>& devices) {
  BlobWriter blob;
  for (const DeviceSpec& d : devices) {
    blob.text(d.name.to_string());
    blob.number(static_cast<int>(d.kind));
    blob.text(d.description);
    blob.number(static_cast<std::int64_t>(d.memory_limit_bytes));
    blob.number(d.cores);
    blob.raw(&d.speed, sizeof d.speed);
  }
  return blob.bytes();
}

Result<std::vector<DeviceSpec>> read_devices(const std::string& bytes, int task) {
  std::vector<DeviceSpec> devices;
  for (BlobReader blob(bytes); !blob.at_end();) {
    DeviceSpec d;
    ARGOSY_ASSIGN_OR_RETURN(d.name, DeviceName::parse(blob.text()));
    d.kind = static_cast<DeviceKind>(blob.number());
    d.description = blob.text();
    d.memory_limit_bytes = static_cast<std::uint64_t>(blob.number());
    d.cores = static_cast<int>(blob.number());
    blob.raw(&d.speed, sizeof d.speed);
    if (!blob.ok()) return internal_error("task ", task, " told devices that cannot be read");
    d.name.job = "train";
    d.name.replica = 0;
    d.name.task = task;
    devices.push_back(std::move(d));
  }
  if (devices.empty())
    return failed_precondition("task ", task, " has no device to train on").with_id("ARG-CLUSTER-064");
  return devices;
}

constexpr std::size_t kFirstNumber = 1000;
constexpr std::chrono::seconds kWorthTelling{1};  // of a wait

// Returns the time limit of a collective, waiting for slow tasks included: $ARGOSY_NET_TIMEOUT in seconds, else 300 s.
std::chrono::milliseconds net_timeout() {
  const char* const text = std::getenv("ARGOSY_NET_TIMEOUT");
  double seconds = 0;
  if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), seconds);
  if (!(seconds > 0 && seconds < 1e6)) return kRendezvous;
  return std::chrono::milliseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds * 1000)));
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace

struct RunTasks::Vote {
  Mutex mutex;
  CondVar ended;
  bool over ARGOSY_GUARDED_BY(mutex) = false;
  bool stop ARGOSY_GUARDED_BY(mutex) = false;
  Status status ARGOSY_GUARDED_BY(mutex);
};

Result<std::shared_ptr<RunTasks>> RunTasks::make(JobTasks& job, const std::vector<DeviceSpec>& own) {
  std::shared_ptr<RunTasks> tasks(new RunTasks(job));
  ARGOSY_RETURN_IF_ERROR(tasks->exchange_devices(own));
  ARGOSY_RETURN_IF_ERROR(tasks->connect());
  return tasks;
}

// A barrier: if a connection is closed while another task still reads from it, sent data may be lost. So all tasks end
// together.
RunTasks::~RunTasks() {
  job_.on_pulse(nullptr);
  if (net_ != nullptr && net_->cause().ok()) (void)job_.barrier("train/end", kRendezvous);
}

Status RunTasks::exchange_devices(const std::vector<DeviceSpec>& own) {
  task_devices_.own = rank();
  for (const DeviceSpec& d : own) task_devices_.local.push_back(d.name.to_string());
  ARGOSY_RETURN_IF_ERROR(job_.store().put(str_cat("train/devices/", rank()), write_devices(own)));
  for (int task = 0; task < size(); ++task) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string told, job_.store().get(str_cat("train/devices/", task), kRendezvous));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> theirs, read_devices(told, task));
    for (const DeviceSpec& d : theirs) {
      // Scopes of devices merge part by part, so the graph's names have one part: a number that no host has.
      task_devices_.names.push_back(str_cat("/device:", d.name.type, ":", kFirstNumber + devices_.size()));
      devices_.push_back(d);
      task_devices_.task.push_back(task);
    }
  }
  return ok_status();
}

Status RunTasks::connect() {
  JobTasks* const job = &job_;
  const NetAddressBook book{
      .put = [job](std::string_view key, std::string_view value) { return job->store().put(key, value); },
      .get = [job](std::string_view key, std::chrono::milliseconds timeout) { return job->store().get(key, timeout); }};
  ARGOSY_ASSIGN_OR_RETURN(auto engine, open_gloo({.rank = rank(),
                                                  .size = size(),
                                                  .address = job_.local_address(),
                                                  .group = "train/gloo",
                                                  .book = book,
                                                  .timeout = net_timeout()}));
  net_ = std::make_shared<NetGroup>(std::move(engine));
  job_.on_abort([weak = std::weak_ptr<NetGroup>(net_)](const Status& cause) {
    if (const auto net = weak.lock()) net->abort(cause);
  });
  job_.on_pulse([weak = std::weak_ptr<NetGroup>(net_)] {
    const auto net = weak.lock();
    return net != nullptr ? net->waits_longer_than(kWorthTelling) : std::string();
  });
  return ok_status();
}

TaskDevices RunTasks::devices_of_next_graph() {
  constexpr int kMostCollectives = 1 << 16;  // of a graph
  TaskDevices devices = task_devices_;
  devices.first_number = graphs_++ * kMostCollectives;
  return devices;
}

Status RunTasks::serve(DeviceSet& device_set) const {
  for (int d = 0; d < device_set.size(); ++d) ARGOSY_RETURN_IF_ERROR(set_task_net(device_set.resources(d), net_));
  return ok_status();
}

Result<std::vector<std::string>> RunTasks::all_texts(const std::string& own, std::string_view what) {
  return net_->gather_texts(own, what);
}

Status RunTasks::agree(std::string_view what, const std::string& lines) {
  const auto mine = lines_of(lines);
  std::uint64_t all = hash_of(lines);
  ARGOSY_ASSIGN_OR_RETURN(const auto brief,
                          net_->gather_texts(std::string(reinterpret_cast<const char*>(&all), sizeof all), what));
  if (std::all_of(brief.begin(), brief.end(), [&](const std::string& b) { return b == brief[0]; })) return ok_status();
  // Exchanges the hash of each line, then the first line that differs.
  std::string hashes;
  for (const std::string_view line : mine) {
    const std::uint64_t hash = hash_of(line);
    hashes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto by_task, net_->gather_texts(hashes, what));
  const auto other =
      std::find_if(by_task.begin(), by_task.end(), [&](const std::string& h) { return h != by_task[0]; });
  if (other == by_task.end()) return internal_error("hashes of ", what, " differ, and those of its lines do not");
  const auto differs = std::mismatch(by_task[0].begin(), by_task[0].end(), other->begin(), other->end());
  const std::size_t line = static_cast<std::size_t>(differs.first - by_task[0].begin()) / sizeof(std::uint64_t);
  ARGOSY_ASSIGN_OR_RETURN(const auto said,
                          net_->gather_texts(line < mine.size() ? std::string(mine[line]) : "nothing more", what));
  const auto task = static_cast<std::size_t>(other - by_task.begin());
  return failed_precondition("the tasks differ in ", what, ": task 0 has \"", said[0], "\", task ", task, " has \"",
                             said[task], "\"")
      .with_id("ARG-CLUSTER-060")
      .with_hint("start every task with the same program, the same flags and the same data");
}

Result<std::vector<Tensor>> RunTasks::from_first(std::vector<Tensor> values) {
  if (!is_first()) values.clear();
  Mutex mutex;
  CondVar ended;
  bool over = false;
  Result<std::vector<Tensor>> result = std::vector<Tensor>();
  net_->start_gather_values(std::move(values), kFromFirst, [&](Result<std::vector<Tensor>> all) {
    MutexLock lock(mutex);
    result = std::move(all);
    over = true;
    ended.notify_all();
  });
  MutexLock lock(mutex);
  while (!over) ended.wait(mutex);
  return result;
}

Result<std::int64_t> RunTasks::smallest(std::int64_t number) {
  const Tensor t = Tensor::scalar(number);
  ARGOSY_RETURN_IF_ERROR(net_->all_reduce({&t, 1}, Reduction::kMin, {.name = "smallest"}));
  return *t.data<std::int64_t>();
}

void RunTasks::cast_vote(bool stop) {
  vote_ = std::make_shared<Vote>();
  net_->start_gather_values(
      {Tensor::scalar(std::int64_t{stop ? 1 : 0})}, kVote, [vote = vote_](const Result<std::vector<Tensor>>& all) {
        MutexLock lock(vote->mutex);
        vote->over = true;
        vote->status = all.ok() ? ok_status() : all.status();
        for (std::size_t i = 0; all.ok() && i < all->size(); ++i) {
          const Tensor& one = (*all)[i];
          if (one.dtype() != DType::kInt64 || one.elements() != 1) {
            vote->status = data_loss("a task's vote is ", dtype_name(one.dtype()), one.shape()).with_id("ARG-COMM-029");
            break;
          }
          vote->stop = vote->stop || *one.data<std::int64_t>() != 0;
        }
        vote->ended.notify_all();
      });
}

Result<bool> RunTasks::collect_vote() {
  ARGOSY_CHECK(vote_ != nullptr);
  const std::shared_ptr<Vote> vote = std::exchange(vote_, nullptr);
  MutexLock lock(vote->mutex);
  while (!vote->over) vote->ended.wait(vote->mutex);
  ARGOSY_RETURN_IF_ERROR(Status(vote->status));
  return vote->stop;
}

Status RunTasks::fail(const Status& status) {
  Status cause = job_.fail(status);
  if (cause.ok()) cause = status;
  net_->abort(cause);
  return cause;
}

}  // namespace argosy
