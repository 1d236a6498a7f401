// FakeCluster: a cluster whose tasks are in this process. Each task has its own device set, registered graphs and
// rendezvous. Tasks communicate only by the calls of RemoteTask and RemoteTasks. Calls that register, run and abort,
// and RecvTensor, each run on a thread of their own; others on the caller's. The test links argosy_runtime.
//
//   FakeCluster cluster({{.job = "worker"}, {.job = "ps"}});
//   Session session(graph, cluster.options(0));     its master is /job:worker/task:0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "argosy/op/kernel/derived_status.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/session/session.h"
#include "argosy/runtime/tasks/task_graphs.h"

namespace argosy {

// Runs each closure on a thread that runs nothing else meanwhile. The destructor waits for all.
class FakeThreads {
 public:
  ~FakeThreads() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  void run(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    if (work_.size() > idle_) threads_.emplace_back([this] { serve(); });
    changed_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      changed_.wait(lock, [&] { return over_ || !work_.empty(); });
      --idle_;
      if (work_.empty()) return;
      const auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::size_t idle_ = 0;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

struct FakeTask {
  std::string job = "worker";
  int task = 0;
  int cpus = 1;
  int gpus = 0;                               // emulated
  std::optional<DeviceRequest> request = {};  // instead of these two
};

class FakeCluster {
 public:
  explicit FakeCluster(const std::vector<FakeTask>& tasks) {
    const Status added = add(tasks);
    ARGOSY_CHECK(added.ok());
  }
  // An error: the requested devices are not available.
  static Result<std::shared_ptr<FakeCluster>> make(const std::vector<FakeTask>& tasks) {
    auto cluster = std::make_shared<FakeCluster>(std::vector<FakeTask>());
    ARGOSY_RETURN_IF_ERROR(cluster->add(tasks));
    return cluster;
  }
  ~FakeCluster() { threads_.reset(); }

  // The options of a session whose master is this task.
  SessionOptions options(std::size_t task = 0) {
    return {.device_set = tasks_[task]->devices, .tasks = views_[task], .trace_path = ""};
  }
  const std::string& name(std::size_t task) const { return tasks_[task]->name; }
  DeviceSet& devices(std::size_t task) { return *tasks_[task]->devices; }
  std::vector<std::string> device_names() const {
    std::vector<std::string> names;
    for (const auto& t : tasks_) {
      for (const DeviceSpec& spec : t->devices->specs()) names.push_back(spec.name.to_string());
    }
    return names;
  }
  // Makes a task fail: it answers no more, and its graphs are aborted.
  void lose(std::size_t task) {
    tasks_[task]->lost.store(true);
    tasks_[task]->graphs->abort_all(lost(tasks_[task]->name));
  }
  // The number of steps that tasks have a rendezvous for; a step counts once for each task.
  std::size_t steps_under_way() {
    std::size_t n = 0;
    for (const auto& t : tasks_) n += t->steps.size();
    return n;
  }
  int registrations() const { return registrations_.load(); }
  std::int64_t receives() const { return receives_.load(); }

 private:
  static Status lost(const std::string& name) { return unavailable("no answer from ", name); }

  struct Task final : RemoteTask {
    Task(FakeCluster& the_cluster, const FakeTask& t, std::shared_ptr<DeviceSet> the_devices)
        : cluster(the_cluster),
          name(str_cat("/job:", t.job, "/replica:0/task:", t.task)),
          steps(name, [this](std::int64_t step, const RendezvousKey& key,
                             Rendezvous::Done done) { cluster.ask(step, key, std::move(done)); }),
          devices(std::move(the_devices)) {
      graphs = std::make_unique<TaskGraphs>(devices, steps, std::make_shared<ResourceManager>());
    }

    void register_graph(const StepGraph& graph, const TaskGraphOptions& options, Registered done) override {
      cluster.threads_->run([this, &graph, options, done] {
        ++cluster.registrations_;
        if (lost) return done(FakeCluster::lost(name));
        StepGraph copy{graph.graph.clone(), graph.feeds, graph.fetches, graph.targets};
        done(graphs->register_graph(std::move(copy), options));
      });
    }
    void deregister_graph(const std::string& handle) override { graphs->deregister_graph(handle); }
    void run_graph(TaskRun run, Ran done) override {
      cluster.threads_->run([this, run = std::move(run), done] {
        if (lost) return done(FakeCluster::lost(name));
        done(graphs->run(run));
      });
    }
    void abort(std::int64_t step_id, Status cause) override {
      cluster.threads_->run([this, step_id, cause] { graphs->abort(step_id, cause); });
    }
    void cleanup(std::int64_t step_id) override { steps.forget(step_id); }

    FakeCluster& cluster;
    const std::string name;
    StepRendezvous steps;
    std::shared_ptr<DeviceSet> devices;
    std::unique_ptr<TaskGraphs> graphs;
    std::atomic<bool> lost{false};
  };

  // The other tasks, as task `own` sees them.
  struct View final : RemoteTasks {
    View(FakeCluster& the_cluster, std::size_t the_own) : cluster(the_cluster), own(the_own) {}
    std::vector<DeviceSpec> devices() const override {
      std::vector<DeviceSpec> all;
      for (std::size_t t = 0; t < cluster.tasks_.size(); ++t) {
        if (t == own) continue;
        for (DeviceSpec& spec : cluster.tasks_[t]->devices->specs()) all.push_back(std::move(spec));
      }
      return all;
    }
    bool has_kernel(const OpDef& op, const DeviceSpec&) const override { return cpu_kernels().has(op.name, "cpu"); }
    std::uint64_t incarnation(const std::string& device) const override { return cluster.incarnation(device); }
    RemoteTask* task(const DeviceName& device) override { return cluster.owner(device); }
    std::shared_ptr<TaskRendezvous> rendezvous(std::int64_t step_id) override {
      return cluster.tasks_[own]->steps.find(step_id);
    }
    void forget(std::int64_t step_id) override { cluster.tasks_[own]->steps.forget(step_id); }

    FakeCluster& cluster;
    const std::size_t own;
  };

  Status add(const std::vector<FakeTask>& tasks) {
    for (const FakeTask& t : tasks) {
      DeviceRequest request{.devices = t.gpus > 0 ? str_cat(t.gpus) : "cpu:0", .cpu_devices = t.cpus};
      if (t.gpus > 0) request.emulate = str_cat(t.gpus);
      if (t.request) request = *t.request;
      request.task = {t.job, 0, t.task, "", std::nullopt};
      ARGOSY_ASSIGN_OR_RETURN(auto devices, DeviceSet::make(request));
      tasks_.push_back(std::make_unique<Task>(*this, t, std::move(devices)));
      views_.push_back(std::make_shared<View>(*this, views_.size()));
    }
    return ok_status();
  }

  Task* owner(const DeviceName& device) const {
    for (const auto& t : tasks_) {
      const DeviceName& name = t->devices->device(0).spec().name;
      if (name.job == device.job && name.replica == device.replica && name.task == device.task) return t.get();
    }
    return nullptr;
  }
  std::uint64_t incarnation(const std::string& device) const {
    const DeviceName name = DeviceName::parse(device).value();
    const Task* const task = owner(name);
    return task == nullptr ? 0 : task->devices->device(task->devices->find(name)).spec().incarnation;
  }
  // RecvTensor: receives on another thread, as over a network.
  void ask(std::int64_t step, const RendezvousKey& key, Rendezvous::Done done) {
    ++receives_;
    threads_->run([this, step, key, done] {
      const auto name = DeviceName::parse(key.send_device);
      Task* const task = name.ok() ? owner(*name) : nullptr;
      if (task == nullptr) return done(not_found("there is no ", key.send_device));
      if (task->lost) return done(derived_status(lost(task->name)));
      if (key.send_incarnation != incarnation(key.send_device))
        return done(aborted("another life of ", key.send_device));
      (void)task->steps.receive(step, key, done);
    });
  }

  std::atomic<int> registrations_{0};
  std::atomic<std::int64_t> receives_{0};
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<std::shared_ptr<View>> views_;
  std::unique_ptr<FakeThreads> threads_ = std::make_unique<FakeThreads>();
};

}  // namespace argosy
