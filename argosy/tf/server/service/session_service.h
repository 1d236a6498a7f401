// SessionService: TensorFlow's MasterService on messages, without a transport: sessions by handle, the ten methods.
// Thread-safe; calls run on the caller's thread and may block (a dequeue from an empty queue, for ever).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/tf/server/service/client_session.h"
#include "argosy/tf/server/service/service_metrics.h"

namespace argosy::tf {

enum class Method {
  kCreateSession,
  kExtendSession,
  kPartialRunSetup,
  kRunStep,
  kCloseSession,
  kListDevices,
  kReset,
  kMakeCallable,
  kRunCallable,
  kReleaseCallable,
};
inline constexpr int kNumMethods = 10;
std::string_view method_name(Method method);  // "CreateSession"

class SessionService {
 public:
  struct Options {
    std::shared_ptr<DeviceSet> device_set;
    std::int64_t feed_limit_bytes = 0;             // of one fed tensor; 0: a quarter of the host's memory
    int max_sessions = 5000;                       // RESOURCE_EXHAUSTED above
    std::chrono::seconds lease{0};                 // sessions without a call for so long are closed; 0: never
    std::chrono::seconds client_lease{0};          // likewise those whose client is gone for so long
    std::chrono::milliseconds stuck_after{10000};  // SessionOptions::stuck_after
    bool count_work = false;                       // see work(); costs about 50 ns an op
    bool replicate = false;        // training steps run on all GPUs of their session, a shard of the batch on each
    bool sync_batch_norm = false;  // of those: by statistics of the global batch
    int check = 0;                 // of those: so many runs of each also run on one device, and are compared
  };
  explicit SessionService(Options options);
  ~SessionService();  // closes every session

  // The response message, or the error of the call. A step's error is part of the response where the client asked.
  Result<std::vector<WirePiece>> call(Method method, WireReader request, CallContext& context);

  // Ends every session, as Reset does, containers left alone.
  void close_all();
  // Closes sessions whose lease is over; to be called now and then. Returns how many.
  int close_expired();

  // What devices keep for later allocations, if nobody is there to make them.
  void give_memory_back();

  struct SessionInfo {
    std::string handle;
    double idle_seconds = 0;
  };
  std::vector<SessionInfo> sessions() const;
  DeviceSet& device_set() const { return *options_.device_set; }
  ServiceMetrics& metrics() { return metrics_; }
  WorkTotals work() const { return work_.totals(replicas_.totals()); }  // but for replication zero without count_work
  const StuckSteps& stuck() const { return stuck_; }
  bool replicates() const { return options_.replicate; }
  ReplicaTotals replicas() const { return replicas_.totals(); }

 private:
  using Reply = Result<std::vector<WirePiece>>;
  Reply dispatch(Method method, WireReader request, CallContext& context);
  Reply create_session(WireReader request, CallContext& context);
  Reply extend_session(WireReader request);
  Reply run_step(WireReader request, CallContext& context);
  Reply run_callable(WireReader request, CallContext& context);
  Reply partial_run_setup(WireReader request);
  Reply make_callable(WireReader request);
  Reply release_callable(WireReader request);
  Reply list_devices(WireReader request);
  Reply close_session(WireReader request);
  Reply reset(WireReader request);

  Result<std::shared_ptr<ClientSession>> find(std::string_view handle) const;
  Result<std::string> add(ClientSession::Options options, std::string_view graph_def);
  std::shared_ptr<ClientSession> take(std::string_view handle);
  static void close(ClientSession& session);

  const Options options_;
  Deadlines deadlines_;
  ServiceMetrics metrics_;
  WorkCounter work_;
  ReplicaCounter replicas_;
  StuckSteps stuck_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<ClientSession>, std::less<>> sessions_ ARGOSY_GUARDED_BY(mutex_);
  int opening_ ARGOSY_GUARDED_BY(mutex_) = 0;  // sessions being made, which count too
};

}  // namespace argosy::tf
