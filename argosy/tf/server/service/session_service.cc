#include "argosy/tf/server/service/session_service.h"

#include <unistd.h>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/system/random_source.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/formats/proto/master.pb.h"
#include "argosy/tf/server/service/session_calls.h"
#include "argosy/tf/server/session/session_devices.h"
#include "argosy/tf/server/session/step_response.h"

namespace argosy::tf {

namespace {

constexpr std::chrono::milliseconds kResetTimeout{10'000};  // of each other task

std::int64_t quarter_of_memory() { return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) / 4; }

// A session whose kernel does not end is freed when the kernel ends: the thread of its step holds it.
void close(ClientSession& session) {
  const Status closed = session.close();
  if (!closed.ok()) ARGOSY_LOG(kWarning, "session ", session.handle().substr(0, 4), "…: ", closed);
}

// The tasks of the session's cluster. Null: the server is alone.
Result<std::shared_ptr<ClusterTasks>> other_tasks(const SessionServiceOptions& service, const SessionConfig& config,
                                                  DeviceSet& own, CallContext& context) {
  if (service.worker == nullptr) {
    if (config.cluster_def.empty()) return std::shared_ptr<ClusterTasks>();
    return invalid_argument("ConfigProto.cluster_def: this server is no task of a cluster")
        .with_id("ARG-CONFIG-001")
        .with_hint("argosy serve --cluster JSON --job J --task N");
  }
  ClusterTasksOptions options{.session = str_cat("session_", system_random_source().next()),
                              .device_filters = config.device_filters,
                              .isolate_state = config.isolate_state,
                              .collective_leader = config.collective_leader,
                              .cluster_def = config.cluster_def,
                              .master_incarnation = service.device_set->device(0).spec().incarnation,
                              .own = own.specs()};
  // TensorFlow's client gives this call the same time: our answer, which names the tasks, comes before its deadline.
  constexpr std::chrono::milliseconds kMargin{500};
  if (config.timeout.count() > 0) options.timeout = config.timeout - std::min(kMargin, config.timeout / 4);
  service.worker->meet_by_key(own);
  return ClusterTasks::connect(*service.worker, std::move(options), context.cancellation());
}

}  // namespace

SessionService::SessionService(Options options)
    : options_([&] {
        if (options.feed_limit_bytes == 0) options.feed_limit_bytes = quarter_of_memory();
        return std::move(options);
      }()),
      work_(options_.device_set->specs()),
      sessions_(options_.max_sessions) {}

SessionService::~SessionService() { close_all(); }

RpcReply SessionService::call(Method method, WireReader request, CallContext& context) {
  const std::int64_t start = now_nanos();
  const std::size_t bytes = request.remaining();
  if (method != Method::kRunStep && method != Method::kRunCallable) {
    // These calls end by themselves: without a thread for other calls they are served all the same, and others wait.
    (void)guarded([&] {
      context.expect_duration(-1);
      return ok_status();
    });
  }
  RpcReply reply = guarded([&] { return dispatch(method, request, context); });
  metrics_.count(static_cast<int>(method), reply.status().code(), bytes, now_nanos() - start);
  return reply;
}

RpcReply SessionService::dispatch(Method method, WireReader request, CallContext& context) {
  switch (method) {
    case Method::kRunStep: return run_step(request, context);
    case Method::kRunCallable: return run_callable(request, context);
    case Method::kCreateSession: return create_session(request, context);
    case Method::kExtendSession: return extend_session(sessions_, request, context);
    case Method::kPartialRunSetup: return set_up_partial_run(sessions_, request, context);
    case Method::kMakeCallable: return make_callable(sessions_, request, context);
    case Method::kReleaseCallable: return release_callable(sessions_, request);
    case Method::kListDevices: return list_devices(sessions_, request);
    case Method::kCloseSession: return close_session(request);
    case Method::kReset: return reset(request);
  }
  return internal_error("no such method");
}

RpcReply SessionService::run_step(WireReader in, CallContext& context) {
  StepRequest request;
  ARGOSY_RETURN_IF_ERROR(scan(in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, sessions_.find(request.session));
  session->lease().called_by(context);
  RpcReply reply = session->run_step(request, context);
  if (reply.ok() || !request.errors_in_body) return reply;
  metrics_.count_step_error(reply.status().code());
  return error_response(reply.status(), options_.task);
}

RpcReply SessionService::run_callable(WireReader in, CallContext& context) {
  CallRequest request;
  ARGOSY_RETURN_IF_ERROR(scan(in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, sessions_.find(request.session));
  session->lease().called_by(context);
  return session->run_callable(request, context);
}

RpcReply SessionService::create_session(WireReader in, CallContext& context) {
  GraphRequest request;
  const std::shared_ptr<const ClientLink> client = context.client();
  ARGOSY_RETURN_IF_ERROR(scan(Method::kCreateSession, in, request));
  ARGOSY_ASSIGN_OR_RETURN(SessionConfig config, read_config(request.config, device_set().num_gpus()));
  config.asked_to_isolate = config.isolate_state;
  config.isolate_state = config.isolate_state || options_.replicate;
  ARGOSY_ASSIGN_OR_RETURN(auto devices, session_device_set(options_.device_set, config));
  ARGOSY_ASSIGN_OR_RETURN(auto tasks, other_tasks(options_, config, *devices, context));
  const InterruptScope interrupts(&context.cancellation(), /*between_blocks=*/false);
  tensorflow::CreateSessionResponse response;
  ARGOSY_ASSIGN_OR_RETURN(*response.mutable_session_handle(),
                          sessions_.add({.handle = {},
                                         .task = options_.task,
                                         .config = std::move(config),
                                         .device_set = std::move(devices),
                                         .tasks = std::move(tasks),
                                         .feed_limit = options_.feed_limit_bytes,
                                         .lent_feeds = options_.lent_feeds,
                                         .deadlines = &deadlines_,
                                         .work = options_.count_work ? &work_ : nullptr,
                                         .stuck = &stuck_,
                                         .stuck_after = options_.stuck_after,
                                         .replicas = options_.replicate ? &replicas_ : nullptr,
                                         .most_gpus = options_.most_gpus,
                                         .sync_batch_norm = options_.sync_batch_norm,
                                         .check = options_.check,
                                         .strategy = options_.strategy,
                                         .planned = options_.planned},
                                        request.graph));
  if (const auto made = sessions_.find(response.session_handle()); made.ok()) (*made)->lease().opened_by(client);
  if (options_.count_work) work_.session_opened();
  return message_reply(response.SerializeAsString());
}

RpcReply SessionService::close_session(WireReader in) {
  tensorflow::CloseSessionRequest request;
  ARGOSY_RETURN_IF_ERROR(parse_request(Method::kCloseSession, in, request));
  {
    ARGOSY_ASSIGN_OR_RETURN(const auto session, sessions_.take(request.session_handle()));
    close(*session);
  }
  give_memory_back();
  return message_reply("");
}

RpcReply SessionService::reset(WireReader in) {
  tensorflow::ResetRequest request;
  ARGOSY_RETURN_IF_ERROR(parse_request(Method::kReset, in, request));
  close_all();
  for (const std::string& container : request.container()) reset_container(device_set(), container);
  if (request.container().empty()) reset_container(device_set(), "");
  if (options_.worker != nullptr) {
    ARGOSY_RETURN_IF_ERROR(cleanup_all(*options_.worker->peers(),
                                       {request.device_filters().begin(), request.device_filters().end()},
                                       {request.container().begin(), request.container().end()}, kResetTimeout));
  }
  return message_reply("");
}

void SessionService::close_all() {
  const auto all = sessions_.take_all();
  // All end at once: the stuck ones are waited for together, not one after another.
  for (const auto& session : all) session->begin_close();
  for (const auto& session : all) close(*session);
  give_memory_back();
}

void SessionService::give_memory_back() {
  if (!sessions_.empty()) return;
  for (int d = 0; d < device_set().size(); ++d) device_set().device(d).allocator().trim();
}

int SessionService::close_expired() {
  if (options_.lease.count() == 0 && options_.client_lease.count() == 0) return 0;
  const auto expired = sessions_.take_expired(options_.lease, options_.client_lease);
  for (const auto& session : expired) session->begin_close();
  for (const auto& session : expired) close(*session);
  return static_cast<int>(expired.size());
}

}  // namespace argosy::tf
