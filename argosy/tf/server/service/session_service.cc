#include "argosy/tf/server/service/session_service.h"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/formats/proto/master.pb.h"
#include "argosy/rpc/wire/wire_writer.h"
#include "argosy/tf/server/service/rpc_error.h"
#include "argosy/tf/server/service/session_devices.h"

namespace argosy::tf {

namespace {

constexpr std::string_view kMethodNames[kNumMethods] = {
    "CreateSession", "ExtendSession", "PartialRunSetup", "RunStep",     "CloseSession",
    "ListDevices",   "Reset",         "MakeCallable",    "RunCallable", "ReleaseCallable"};

Status damaged(Method method) {
  return invalid_argument(method_name(method), ": the request is damaged").with_id("ARG-PROTO-003");
}

Status no_session(std::string_view handle) {
  return aborted("Session ", handle, " is not found. Possibly, this master has restarted.").with_id("ARG-RPC-003");
}

template <typename Message>
Status parse(Method method, const WireReader& request, Message& to) {
  return to.ParseFromString(request.joined()) ? ok_status() : damaged(method);
}

std::vector<WirePiece> reply(std::string message) {
  std::vector<WirePiece> pieces(1);
  pieces[0].bytes = std::move(message);
  return pieces;
}

std::vector<std::string> strings(const auto& list) { return {list.begin(), list.end()}; }

// 16 hexadecimal digits that nobody can guess.
std::string new_handle() {
  std::random_device random;
  const std::uint64_t number = std::uint64_t{random()} << 32 | random();
  char text[17];
  std::snprintf(text, sizeof text, "%016lx", static_cast<unsigned long>(number));
  return text;
}

std::int64_t quarter_of_memory() { return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) / 4; }

// The two requests that carry a graph: it stays where it is, or is joined in `scratch`.
struct GraphRequest {
  std::string_view session, graph, config;
  std::int64_t version = 0;
  WireScratch scratch;
};

Status scan(Method method, WireReader in, GraphRequest& to) {
  const bool creates = method == Method::kCreateSession;
  for (WireField f; in.next(f);) {
    if (f.is_bytes() && f.number == (creates ? 1u : 2u)) {
      to.graph = in.text(f, to.scratch);
    } else if (f.is_bytes() && f.number == (creates ? 2u : 1u)) {
      (creates ? to.config : to.session) = in.text(f, to.scratch);
    } else {
      if (!creates && f.number == 3 && f.is_varint()) to.version = static_cast<std::int64_t>(f.value);
      in.skip(f);
    }
  }
  return in.ok() ? ok_status() : damaged(method);
}

}  // namespace

std::string_view method_name(Method method) { return kMethodNames[static_cast<int>(method)]; }

SessionService::SessionService(Options options)
    : options_([&] {
        if (options.feed_limit_bytes == 0) options.feed_limit_bytes = quarter_of_memory();
        return std::move(options);
      }()),
      work_(options_.device_set->specs()) {}

SessionService::~SessionService() { close_all(); }

SessionService::Reply SessionService::call(Method method, WireReader request, CallContext& context) {
  const std::int64_t start = now_nanos();
  const std::size_t bytes = request.remaining();
  if (method != Method::kRunStep && method != Method::kRunCallable) {
    // Others wait until it is over where no thread is left to serve them; what ends by itself is not refused for that.
    (void)guarded([&] {
      context.expect_duration(-1);
      return ok_status();
    });
  }
  Reply reply = guarded([&] { return dispatch(method, request, context); });
  metrics_.count(static_cast<int>(method), reply.status().code(), bytes, now_nanos() - start);
  return reply;
}

SessionService::Reply SessionService::dispatch(Method method, WireReader request, CallContext& context) {
  switch (method) {
    case Method::kRunStep: return run_step(request, context);
    case Method::kRunCallable: return run_callable(request, context);
    case Method::kCreateSession: return create_session(request, context);
    case Method::kExtendSession: return extend_session(request);
    case Method::kPartialRunSetup: return partial_run_setup(request);
    case Method::kMakeCallable: return make_callable(request);
    case Method::kReleaseCallable: return release_callable(request);
    case Method::kListDevices: return list_devices(request);
    case Method::kCloseSession: return close_session(request);
    case Method::kReset: return reset(request);
  }
  return internal_error("no such method");
}

SessionService::Reply SessionService::run_step(WireReader in, CallContext& context) {
  StepRequest request;
  ARGOSY_RETURN_IF_ERROR(scan(in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, find(request.session));
  session->called_by(context);
  Reply reply = session->run_step(request, context);
  if (reply.ok() || !request.errors_in_body) return reply;
  metrics_.count_step_error(reply.status().code());
  return error_response(reply.status());
}

SessionService::Reply SessionService::run_callable(WireReader in, CallContext& context) {
  CallRequest request;
  ARGOSY_RETURN_IF_ERROR(scan(in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, find(request.session));
  session->called_by(context);
  return session->run_callable(request, context);
}

Result<std::string> SessionService::add(ClientSession::Options options, std::string_view graph_def) {
  {
    MutexLock lock(mutex_);
    if (static_cast<int>(sessions_.size()) + opening_ >= options_.max_sessions) {
      return resource_exhausted("there are ", options_.max_sessions, " sessions, as many as this server takes")
          .with_id("ARG-RPC-004")
          .with_hint("close sessions; --session-lease closes those of clients that are gone");
    }
    ++opening_;
  }
  options.handle = new_handle();
  auto session = guarded([&] { return ClientSession::create(std::move(options), graph_def); });
  MutexLock lock(mutex_);
  --opening_;
  ARGOSY_RETURN_IF_ERROR(Status(session.status()));
  std::string handle = (*session)->handle();
  sessions_.emplace(handle, *std::move(session));
  return handle;
}

SessionService::Reply SessionService::create_session(WireReader in, CallContext& context) {
  GraphRequest request;
  ARGOSY_RETURN_IF_ERROR(scan(Method::kCreateSession, in, request));
  ARGOSY_ASSIGN_OR_RETURN(SessionConfig config, read_config(request.config, device_set().num_gpus()));
  config.isolate_state = config.isolate_state || options_.replicate;
  ARGOSY_ASSIGN_OR_RETURN(auto devices, session_device_set(options_.device_set, config));
  tensorflow::CreateSessionResponse response;
  ARGOSY_ASSIGN_OR_RETURN(*response.mutable_session_handle(),
                          add({.handle = {},
                               .config = std::move(config),
                               .device_set = std::move(devices),
                               .feed_limit = options_.feed_limit_bytes,
                               .deadlines = &deadlines_,
                               .work = options_.count_work ? &work_ : nullptr,
                               .stuck = &stuck_,
                               .stuck_after = options_.stuck_after,
                               .replicas = options_.replicate ? &replicas_ : nullptr,
                               .sync_batch_norm = options_.sync_batch_norm,
                               .check = options_.check},
                              request.graph));
  if (const auto made = find(response.session_handle()); made.ok()) (*made)->called_by(context);
  if (options_.count_work) work_.session_opened();
  return reply(response.SerializeAsString());
}

SessionService::Reply SessionService::extend_session(WireReader in) {
  GraphRequest request;
  ARGOSY_RETURN_IF_ERROR(scan(Method::kExtendSession, in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, find(request.session));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t version, session->extend(request.graph, request.version));
  tensorflow::ExtendSessionResponse response;
  response.set_new_graph_version(version);
  return reply(response.SerializeAsString());
}

SessionService::Reply SessionService::partial_run_setup(WireReader in) {
  tensorflow::PartialRunSetupRequest request;
  ARGOSY_RETURN_IF_ERROR(parse(Method::kPartialRunSetup, in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, find(request.session_handle()));
  tensorflow::PartialRunSetupResponse response;
  ARGOSY_ASSIGN_OR_RETURN(*response.mutable_partial_run_handle(),
                          session->set_up_partial_run(strings(request.feed()), strings(request.fetch()),
                                                      strings(request.target()), request.request_id()));
  return reply(response.SerializeAsString());
}

SessionService::Reply SessionService::make_callable(WireReader in) {
  tensorflow::MakeCallableRequest request;
  ARGOSY_RETURN_IF_ERROR(parse(Method::kMakeCallable, in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, find(request.session_handle()));
  tensorflow::MakeCallableResponse response;
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t handle, session->make_callable(request.options(), request.request_id()));
  response.set_handle(handle);
  return reply(response.SerializeAsString());
}

SessionService::Reply SessionService::release_callable(WireReader in) {
  tensorflow::ReleaseCallableRequest request;
  ARGOSY_RETURN_IF_ERROR(parse(Method::kReleaseCallable, in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, find(request.session_handle()));
  ARGOSY_RETURN_IF_ERROR(session->release_callable(request.handle()));
  return reply("");
}

SessionService::Reply SessionService::list_devices(WireReader in) {
  tensorflow::ListDevicesRequest request;
  ARGOSY_RETURN_IF_ERROR(parse(Method::kListDevices, in, request));
  const auto session = find(request.session_handle());
  // Unlike all others.
  if (!session.ok()) return invalid_argument(session.status().message()).with_id("ARG-RPC-003");
  tensorflow::ListDevicesResponse response;
  (*session)->list_devices(response);
  return reply(response.SerializeAsString());
}

SessionService::Reply SessionService::close_session(WireReader in) {
  tensorflow::CloseSessionRequest request;
  ARGOSY_RETURN_IF_ERROR(parse(Method::kCloseSession, in, request));
  auto session = take(request.session_handle());
  if (session == nullptr) return no_session(request.session_handle());
  close(*session);
  session.reset();
  give_memory_back();
  return reply("");
}

// A session whose kernel does not end goes when that ends: the thread of its step holds it.
void SessionService::close(ClientSession& session) {
  const Status closed = session.close();
  if (!closed.ok()) ARGOSY_LOG(kWarning, "session ", session.handle().substr(0, 4), "…: ", closed);
}

SessionService::Reply SessionService::reset(WireReader in) {
  tensorflow::ResetRequest request;
  ARGOSY_RETURN_IF_ERROR(parse(Method::kReset, in, request));
  close_all();
  for (const std::string& container : request.container()) reset_container(device_set(), container);
  if (request.container().empty()) reset_container(device_set(), "");
  return reply("");
}

Result<std::shared_ptr<ClientSession>> SessionService::find(std::string_view handle) const {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) return no_session(handle);
  return found->second;
}

std::shared_ptr<ClientSession> SessionService::take(std::string_view handle) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) return nullptr;
  auto session = std::move(found->second);
  sessions_.erase(found);
  return session;
}

void SessionService::close_all() {
  std::map<std::string, std::shared_ptr<ClientSession>, std::less<>> all;
  {
    MutexLock lock(mutex_);
    all.swap(sessions_);
  }
  for (const auto& [handle, session] : all) close(*session);
  all.clear();
  give_memory_back();
}

void SessionService::give_memory_back() {
  {
    MutexLock lock(mutex_);
    if (!sessions_.empty()) return;
  }
  for (int d = 0; d < device_set().size(); ++d) device_set().device(d).allocator().trim();
}

int SessionService::close_expired() {
  if (options_.lease.count() == 0 && options_.client_lease.count() == 0) return 0;
  const auto expires = [this](const ClientSession& session) {
    return (options_.lease.count() > 0 && session.idle() > options_.lease) ||
           (options_.client_lease.count() > 0 && session.orphaned(options_.client_lease));
  };
  std::vector<std::shared_ptr<ClientSession>> expired;
  {
    MutexLock lock(mutex_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      if (expires(*it->second)) {
        expired.push_back(std::move(it->second));
        it = sessions_.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (const auto& session : expired) close(*session);
  return static_cast<int>(expired.size());
}

std::vector<SessionService::SessionInfo> SessionService::sessions() const {
  MutexLock lock(mutex_);
  std::vector<SessionInfo> infos;
  for (const auto& [handle, session] : sessions_) {
    infos.push_back({handle, std::chrono::duration<double>(session->idle()).count()});
  }
  return infos;
}

}  // namespace argosy::tf
