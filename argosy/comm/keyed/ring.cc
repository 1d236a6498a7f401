#include "argosy/comm/keyed/ring.h"

#include <utility>

#include "argosy/base/mutex.h"
#include "argosy/comm/combine.h"
#include "argosy/comm/keyed/ring_order.h"

namespace argosy {

namespace {

// One run. Each field (a piece of one ring) goes its own way, from callback to callback; fields share only the count of
// what is under way and the first error.
class RingRun : public std::enable_shared_from_this<RingRun> {
 public:
  RingRun(const RingCall& call, std::shared_ptr<PieceExchange> exchange, RingDone done, bool reduces)
      : call_(call),
        exchange_(std::move(exchange)),
        done_(std::move(done)),
        rings_(make_rings(call.group, call.offsets)),
        reduces_(reduces) {}

  void start() {
    Status ready = prepare();
    if (!ready.ok()) {
      exchange_->abort(ready);
      return done_(std::move(ready));
    }
    {
      MutexLock lock(mutex_);
      open_ = static_cast<int>(fields_.size());
    }
    for (Field& field : fields_) receive(field);
  }

 private:
  struct Field {
    int index = 0, chunk = 0, ring = 0;
    bool second = false;
    std::vector<std::byte> received;
  };

  Status prepare() {
    const int size = call_.group.size();
    const auto rings = static_cast<int>(rings_.size());
    if (rings == 0) return internal_error("a collective has no ring").with_id("ARG-CLUSTER-100");
    if (reduces_) {
      const Component part = component_of(call_.values.dtype(), call_.reduction);
      dtype_ = part.dtype;
      ARGOSY_ASSIGN_OR_RETURN(combine_, find_combine(dtype_, call_.reduction, CombineOrder::kChain));
      ARGOSY_ASSIGN_OR_RETURN(divide_, find_combine(dtype_, Reduction::kMean, CombineOrder::kChain));
      pieces_ = aligned_pieces(call_.values.elements(), element_bytes(dtype_), size * rings);
    } else {
      pieces_ = equal_pieces(call_.values.elements(), size * rings);
    }
    for (int chunk = 0; chunk < size; ++chunk) {
      for (int ring = 0; ring < rings; ++ring) {
        fields_.push_back(
            {.index = chunk * rings + ring, .chunk = chunk, .ring = ring, .second = false, .received = {}});
      }
    }
    return ok_status();
  }

  std::span<std::byte> bytes_of(const Field& field) const {
    const auto each = element_bytes(call_.values.dtype());
    return {static_cast<std::byte*>(call_.values.raw()) + static_cast<std::size_t>(pieces_.begin(field.index)) * each,
            static_cast<std::size_t>(pieces_.count(field.index)) * each};
  }
  int place(const Field& field) const { return rings_[field.ring].place; }
  // The place `back` places before that of the field's chunk.
  int before_chunk(const Field& field, int back) const {
    return (field.chunk + call_.group.size() * back - back) % call_.group.size();
  }
  bool receives(const Field& f) const {
    if (pieces_.count(f.index) == 0) return false;
    return f.second ? place(f) != before_chunk(f, 1) : f.chunk != place(f);
  }
  bool sends(const Field& f) const {
    return pieces_.count(f.index) != 0 && place(f) != before_chunk(f, f.second ? 2 : 1);
  }
  std::string key(const Field& f, int from) const {
    return str_cat(call_.key, ":", f.second ? 1 : 0, ":", f.index, ":", from);
  }

  void receive(Field& f) {
    if (failed() || !receives(f)) return send(f);
    const Ring& ring = rings_[f.ring];
    const int from = (ring.place + call_.group.size() - 1) % call_.group.size();
    std::span<std::byte> to = bytes_of(f);
    if (reduces_ && !f.second) {
      f.received.resize(to.size());
      to = f.received;
    }
    exchange_->receive(ring.member[from], key(f, from), to, [self = shared_from_this(), &f](Status status) {
      if (!status.ok()) return self->fail(status);
      if (self->reduces_ && !f.second) self->add(f);
      self->send(f);
    });
  }

  void add(Field& f) const {
    const std::span<std::byte> here = bytes_of(f);
    const std::byte* const in[] = {here.data(), f.received.data()};
    std::byte* const out[] = {here.data()};
    const std::size_t count = here.size() / element_bytes(dtype_);
    combine_({.in = in, .out = out, .inputs = 2, .outputs = 1}, 0, count);
    if (call_.mean && place(f) == before_chunk(f, 1)) {
      divide_({.in = in, .out = out, .inputs = 1, .outputs = 1, .divisor = static_cast<double>(call_.group.size())}, 0,
              count);
    }
    f.received = {};
  }

  void send(Field& f) {
    if (failed() || !sends(f)) return go_on(f);
    exchange_->send(key(f, place(f)), bytes_of(f), [self = shared_from_this(), &f](Status status) {
      if (!status.ok()) return self->fail(status);
      self->go_on(f);
    });
  }

  void go_on(Field& f) {
    if (!reduces_ || f.second || failed()) return end_field();
    f.second = true;
    receive(f);
  }

  bool failed() {
    MutexLock lock(mutex_);
    return !error_.ok();
  }

  // Fields that wait are ended by the exchange: their memory is in use until then.
  void fail(const Status& why) {
    bool first = false;
    {
      MutexLock lock(mutex_);
      first = error_.ok();
      if (first) error_ = why;
    }
    if (first) exchange_->abort(why);
    end_field();
  }

  void end_field() {
    Status result;
    {
      MutexLock lock(mutex_);
      if (--open_ > 0) return;
      result = error_;
    }
    std::exchange(done_, nullptr)(std::move(result));
  }

  const RingCall call_;
  const std::shared_ptr<PieceExchange> exchange_;
  RingDone done_;
  const std::vector<Ring> rings_;
  const bool reduces_;
  DType dtype_ = DType::kInvalid;
  CombineFn combine_ = nullptr, divide_ = nullptr;
  Pieces pieces_;
  std::vector<Field> fields_;  // does not change its size once started
  Mutex mutex_;
  Status error_ ARGOSY_GUARDED_BY(mutex_);
  int open_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

void start(const RingCall& call, std::shared_ptr<PieceExchange> exchange, RingDone done, bool reduces) {
  std::make_shared<RingRun>(call, std::move(exchange), std::move(done), reduces)->start();
}

}  // namespace

void start_ring_reduce(const RingCall& call, std::shared_ptr<PieceExchange> exchange, RingDone done) {
  start(call, std::move(exchange), std::move(done), true);
}

void start_ring_gather(const RingCall& call, std::shared_ptr<PieceExchange> exchange, RingDone done) {
  start(call, std::move(exchange), std::move(done), false);
}

}  // namespace argosy
