#include "argosy/ops/reader/reader_state.h"

#include <atomic>

namespace argosy {

// One read, from its turn on.
struct Reader::Turn {
  Request request;
  std::vector<Record> records;
  Status status;
};

void Reader::read(Request request) {
  const auto turn = std::make_shared<Turn>();
  turn->request = std::move(request);
  const auto self = shared_from_this();
  const auto attempt = [this](Status&) {
    if (busy_) return false;
    busy_ = true;
    return true;
  };
  turns_.add(self, turn->request.caller.cancellation, "ReaderRead", attempt, [self, turn](Status status) {
    if (!status.ok()) return turn->request.done(std::move(status), {});
    self->go_on(turn);
  });
}

// A file name that is there at once is taken in this loop, so that many empty files do not nest calls; one that comes
// later goes on from there.
void Reader::go_on(const std::shared_ptr<Turn>& turn) {
  const auto self = shared_from_this();
  while (true) {
    if (read_some(*turn)) return end(turn);
    const auto first = std::make_shared<std::atomic<bool>>(true);  // whoever comes second goes on
    turn->request.names->dequeue(turn->request.caller, [self, turn, first](Status status, QueueState::Tuple element) {
      self->take_file(*turn, std::move(status), std::move(element));
      if (!first->exchange(false)) self->go_on(turn);
    });
    if (first->exchange(false)) return;
  }
}

bool Reader::read_some(Turn& turn) {
  if (!turn.status.ok()) return true;
  bool open = false;
  {
    MutexLock lock(turns_.mutex());
    open = started_ > finished_;
  }
  while (open && static_cast<std::int64_t>(turn.records.size()) < turn.request.most) {
    Record record;
    auto more = format_->next(record);
    if (!more.ok()) {
      turn.status = std::move(more).status();
      return true;
    }
    MutexLock lock(turns_.mutex());
    if (*more) {
      turn.records.push_back(std::move(record));
      ++records_;
    }
    if (!*more || format_->ended()) {
      finished_ = started_;
      open = false;
    }
  }
  return !turn.records.empty();
}

void Reader::take_file(Turn& turn, Status status, QueueState::Tuple element) {
  {
    MutexLock lock(turns_.mutex());
    name_.clear();
  }
  if (!status.ok()) {
    turn.status = std::move(status);
    return;
  }
  const Tensor& name = element[0];
  if (name.dtype() != DType::kString || name.elements() != 1) {
    turn.status = invalid_argument("a queue of file names must have scalar strings, not ", dtype_name(name.dtype()),
                                   name.shape());
    return;
  }
  const std::string& text = *name.data<std::string>();
  auto path = format_->names_only() ? Result<std::string>(text) : turn.request.resolve(text);
  turn.status = path.ok() ? format_->open(text, *path) : std::move(path).status();
  if (!turn.status.ok()) return;
  MutexLock lock(turns_.mutex());
  ++started_;
  name_ = text;
}

void Reader::end(const std::shared_ptr<Turn>& turn) {
  {
    MutexLock lock(turns_.mutex());
    busy_ = false;
  }
  const auto self = shared_from_this();
  if (turn->status.ok() || turn->records.empty()) {
    turn->request.done(std::move(turn->status), std::move(turn->records));
  } else {
    turn->request.done(std::move(turn->status), {});
  }
  turns_.wake();
}

std::int64_t Reader::records() {
  MutexLock lock(turns_.mutex());
  return records_;
}

std::int64_t Reader::files() {
  MutexLock lock(turns_.mutex());
  return finished_;
}

void Reader::reset() {
  MutexLock lock(turns_.mutex());
  started_ = finished_ = records_ = 0;
  name_.clear();
}

// --- state: TensorFlow's message ReaderBaseState, three counts and the last file's name ----------------------------

namespace {

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

bool take_varint(std::string_view& from, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

constexpr int kVarint = 0, kBytes = 2, kNameField = 4;

}  // namespace

Result<std::string> Reader::state() {
  if (!format_->serializable()) return unimplemented("Reader SerializeState");
  MutexLock lock(turns_.mutex());
  std::string bytes;
  std::uint64_t field = 0;
  for (const std::int64_t count : {started_, finished_, records_}) {
    ++field;
    if (count == 0) continue;
    put_varint(bytes, field * 8 + kVarint);
    put_varint(bytes, static_cast<std::uint64_t>(count));
  }
  if (!name_.empty()) {
    put_varint(bytes, kNameField * 8 + kBytes);
    put_varint(bytes, name_.size());
    bytes += name_;
  }
  return bytes;
}

Status Reader::restore(const std::string& state) {
  if (!format_->serializable()) return unimplemented("Reader RestoreState");
  const auto damaged = [&] { return invalid_argument("Could not parse state of a reader: ", state.size(), " bytes"); };
  std::int64_t counts[4] = {0, 0, 0, 0};
  std::string name;
  for (std::string_view rest = state; !rest.empty();) {
    std::uint64_t tag = 0, value = 0;
    if (!take_varint(rest, tag) || !take_varint(rest, value)) return damaged();
    const std::uint64_t field = tag / 8;
    if (tag % 8 == kBytes) {
      if (value > rest.size()) return damaged();
      if (field == kNameField) name = rest.substr(0, value);
      rest.remove_prefix(value);
    } else if (tag % 8 != kVarint) {
      return damaged();
    } else if (field >= 1 && field <= 3) {
      counts[field] = static_cast<std::int64_t>(value);
    }
  }
  if (counts[1] < 0 || counts[3] < 0 || counts[1] != counts[2]) {
    return invalid_argument("Inconsistent work started vs. finished when restoring a reader: ", counts[1], " and ",
                            counts[2]);
  }
  MutexLock lock(turns_.mutex());
  started_ = counts[1];
  finished_ = counts[2];
  records_ = counts[3];
  name_ = std::move(name);
  return ok_status();
}

}  // namespace argosy
