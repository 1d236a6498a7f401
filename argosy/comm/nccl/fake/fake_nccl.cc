#include "argosy/comm/nccl/fake/fake_nccl.h"

#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "argosy/comm/combine.h"

namespace argosy::cuda {

struct NcclCommObject {
  int rank = 0, size = 0;
  std::shared_ptr<struct FakeClique> clique;
  std::thread::id process;  // who made it: tasks are threads of a test
  int next = 0;             // number of its next operation
  int under_way = 0;        // how often it says yet that what was asked for is under way
};

struct FakeClique {
  bool aborted = false;
  int hanging = -1;  // a rank
  struct Round {
    int arrived = 0;
    bool done = false;
    std::vector<const void*> in;
    std::vector<void*> out;
    std::map<std::thread::id, std::vector<CuStream>> streams;  // by process
  };
  std::map<int, Round> rounds;
};

}  // namespace argosy::cuda

namespace argosy::cuda::fake {

class FakeNccl::State {
 public:
  NcclFaults faults;
  NcclCalls calls;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, std::shared_ptr<FakeClique>> cliques;  // by the number in their id
  std::shared_ptr<FakeClique> making;                  // the last of them
  int ids = 0;
  int hang_rank = -1, broken = kNcclSuccess;
  int collectives = 0, communicators = 0, aborts = 0;

  static State*& current() {
    static State* state = nullptr;
    return state;
  }
};

namespace {

using State = FakeNccl::State;

DType dtype_of(int type) {
  constexpr DType kTypes[] = {DType::kInt8,   DType::kUint8,   DType::kInt32,   DType::kUint32,  DType::kInt64,
                              DType::kUint64, DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kBfloat16};
  return kTypes[type];
}

// Groups are a thread's: what one leaves open would swallow whatever it asks for next. None of ours is in another.
thread_local int groups = 0;
thread_local std::vector<NcclComm> grouped;  // whom it asks for something

// A communicator that does not block bears one group at a time, and says when it is through. One thread with several
// must ask for all of them in a group.
int join_group(NcclComm comm) {
  if (groups != 1) return kNcclInvalidUsage;
  std::lock_guard lock(State::current()->mutex);
  if (comm->under_way > 0) return kNcclInvalidArgument;
  grouped.push_back(comm);
  return kNcclSuccess;
}

// On the stream: everybody's part, then `work` once.
using Work = std::function<void(const std::vector<const void*>& in, const std::vector<void*>& out)>;
int meet(NcclComm comm, const void* in, void* out, CuStream stream, Work work) {
  State* const s = State::current();
  if (const int refused = join_group(comm); refused != kNcclSuccess) return refused;
  const int number = comm->next++;
  FakeDriver::current()->enqueue(
      stream, "nccl", [=, clique = comm->clique, rank = comm->rank, size = comm->size, process = comm->process] {
        std::unique_lock lock(s->mutex);
        if (clique->hanging == rank) {
          s->changed.wait(lock, [&] { return clique->aborted; });
          return kCuSuccess;
        }
        FakeClique::Round& round = clique->rounds[number];
        round.in.resize(static_cast<std::size_t>(size));
        round.out.resize(static_cast<std::size_t>(size));
        round.in[static_cast<std::size_t>(rank)] = in;
        round.out[static_cast<std::size_t>(rank)] = out;
        round.streams[process].push_back(stream);
        if (++round.arrived == size) {
          // Other processes' memories it reaches by the network.
          for (const auto& [each, streams] : round.streams) {
            FakeDriver::current()->follow_pointers(streams, "a collective of NCCL's");
          }
          work(round.in, round.out);
          ++s->collectives;
          round.done = true;
          s->changed.notify_all();
        } else {
          s->changed.wait(lock, [&] { return round.done || clique->aborted; });
        }
        return kCuSuccess;
      });
  return kNcclInProgress;
}

Work reduce(std::size_t count, int type, int op, bool scatter, bool lies) {
  return [=](const std::vector<const void*>& in, const std::vector<void*>& out) {
    constexpr Reduction kOps[] = {Reduction::kSum, Reduction::kProd, Reduction::kMax, Reduction::kMin,
                                  Reduction::kMean};
    const DType dtype = dtype_of(type);
    const CombineFn combine = find_combine(dtype, kOps[op], CombineOrder::kChain).value();
    const std::size_t ranks = in.size(), whole = scatter ? count * ranks : count;
    std::vector<std::byte> sum(whole * element_bytes(dtype));
    std::vector<const std::byte*> from;
    for (const void* const p : in) from.push_back(static_cast<const std::byte*>(p));
    std::byte* const to = sum.data();
    combine({from.data(), &to, static_cast<int>(ranks), 1, static_cast<double>(ranks)}, 0, whole);
    if (lies && !sum.empty()) sum[0] = ~sum[0];
    const std::size_t bytes = count * element_bytes(dtype);
    for (std::size_t r = 0; r < ranks; ++r) std::memcpy(out[r], sum.data() + (scatter ? r * bytes : 0), bytes);
  };
}

int version(int* out) {
  *out = State::current()->faults.version;
  return kNcclSuccess;
}
const char* error_text(int result) { return result == kNcclRemoteError ? "remote error" : "unhandled error"; }
int unique_id(NcclId* id) {
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  const int number = ++s->ids;
  std::memcpy(id->bytes, &number, sizeof number);
  s->making = s->cliques[number] = std::make_shared<FakeClique>();
  return kNcclSuccess;
}
int init(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config) {
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  if (config->blocking != 0 || s->faults.init_fails) return 2;
  int number = 0;
  std::memcpy(&number, id.bytes, sizeof number);
  const auto clique = s->cliques.find(number);
  if (clique == s->cliques.end()) return kNcclInvalidArgument;
  clique->second->hanging = s->hang_rank;
  *comm =
      new NcclCommObject{.rank = rank, .size = ranks, .clique = clique->second, .process = std::this_thread::get_id()};
  ++s->communicators;
  if (groups != 1) return kNcclInvalidUsage;
  grouped.push_back(*comm);
  return kNcclInProgress;
}
int async_error(NcclComm comm, int* result) {
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  const bool under_way = s->faults.init_hangs || (comm->under_way > 0 && comm->under_way-- > 1);
  *result = under_way ? static_cast<int>(kNcclInProgress) : s->broken;
  return kNcclSuccess;
}
int abort(NcclComm comm) {
  State* const s = State::current();
  std::lock_guard lock(s->mutex);
  comm->clique->aborted = true;
  --s->communicators;
  ++s->aborts;
  s->changed.notify_all();
  delete comm;
  return kNcclSuccess;
}
int group_start() { return groups++ == 0 ? kNcclSuccess : kNcclInvalidUsage; }
int group_end() {
  if (groups-- != 1) return kNcclInvalidUsage;
  std::lock_guard lock(State::current()->mutex);
  for (NcclComm const comm : grouped) comm->under_way = 3;
  const bool any = !grouped.empty();
  grouped.clear();
  return any ? kNcclInProgress : kNcclSuccess;
}

int all_reduce(const void* in, void* out, std::size_t count, int type, int op, NcclComm comm, CuStream stream) {
  return meet(comm, in, out, stream, reduce(count, type, op, false, State::current()->faults.lies));
}
int reduce_scatter(const void* in, void* out, std::size_t count, int type, int op, NcclComm comm, CuStream stream) {
  return meet(comm, in, out, stream, reduce(count, type, op, true, false));
}
int all_gather(const void* in, void* out, std::size_t count, int type, NcclComm comm, CuStream stream) {
  const std::size_t bytes = count * element_bytes(dtype_of(type));
  return meet(comm, in, out, stream, [=](const std::vector<const void*>& from, const std::vector<void*>& to) {
    for (void* const whole : to) {
      for (std::size_t r = 0; r < from.size(); ++r) {
        std::memmove(static_cast<std::byte*>(whole) + r * bytes, from[r], bytes);
      }
    }
  });
}
int broadcast(const void* in, void* out, std::size_t count, int type, int root, NcclComm comm, CuStream stream) {
  const std::size_t bytes = count * element_bytes(dtype_of(type));
  return meet(comm, in, out, stream, [=](const std::vector<const void*>& from, const std::vector<void*>& to) {
    for (void* const p : to) std::memmove(p, from[static_cast<std::size_t>(root)], bytes);
  });
}

// Messages pass through the host: the sender's order of messages is the receiver's.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::vector<std::vector<std::byte>>> held;
};
Mailbox& mailbox() {
  static Mailbox box;
  return box;
}
int send(const void* in, std::size_t count, int type, int to, NcclComm comm, CuStream stream) {
  const std::size_t bytes = count * element_bytes(dtype_of(type));
  if (const int refused = join_group(comm); refused != kNcclSuccess) return refused;
  FakeDriver::current()->enqueue(stream, "nccl send", [=, from = comm->rank] {
    const auto* const data = static_cast<const std::byte*>(in);
    std::lock_guard lock(mailbox().mutex);
    mailbox().held[{from, to}].emplace_back(data, data + bytes);
    mailbox().changed.notify_all();
    return kCuSuccess;
  });
  return kNcclInProgress;
}
int recv(void* out, std::size_t, int, int from, NcclComm comm, CuStream stream) {
  if (const int refused = join_group(comm); refused != kNcclSuccess) return refused;
  FakeDriver::current()->enqueue(stream, "nccl recv", [=, to = comm->rank] {
    std::unique_lock lock(mailbox().mutex);
    auto& queue = mailbox().held[{from, to}];
    mailbox().changed.wait(lock, [&] { return !queue.empty(); });
    std::memcpy(out, queue.front().data(), queue.front().size());
    queue.erase(queue.begin());
    return kCuSuccess;
  });
  return kNcclInProgress;
}

}  // namespace

FakeNccl::FakeNccl(const NcclFaults& faults) : state_(std::make_unique<State>()) {
  state_->faults = faults;
  State::current() = state_.get();
  NcclCalls& c = state_->calls;
  c = {.version = version,
       .error_text = error_text,
       .unique_id = unique_id,
       .init = faults.missing == 1 ? nullptr : init,
       .async_error = async_error,
       .abort = abort,
       .group_start = group_start,
       .group_end = group_end,
       .all_reduce = faults.missing == 2 ? nullptr : all_reduce,
       .reduce_scatter = reduce_scatter,
       .all_gather = all_gather,
       .broadcast = broadcast,
       .send = send,
       .recv = recv};
}
FakeNccl::~FakeNccl() { State::current() = nullptr; }

const NcclCalls& FakeNccl::calls() const { return state_->calls; }
void FakeNccl::hang(int rank) {
  std::lock_guard lock(state_->mutex);
  state_->hang_rank = rank;
  if (state_->making != nullptr) state_->making->hanging = rank;
}
void FakeNccl::break_down(int result) {
  std::lock_guard lock(state_->mutex);
  state_->broken = result;
}
int FakeNccl::collectives() const {
  std::lock_guard lock(state_->mutex);
  return state_->collectives;
}
int FakeNccl::communicators() const {
  std::lock_guard lock(state_->mutex);
  return state_->communicators;
}
int FakeNccl::aborts() const {
  std::lock_guard lock(state_->mutex);
  return state_->aborts;
}

}  // namespace argosy::cuda::fake
