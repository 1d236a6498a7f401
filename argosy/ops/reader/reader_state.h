// What stands behind a reader's handle: the file it is at, and the reads that wait for their turn or for a file name.
// Thread-safe; reads are served one after the other, first come first served. Internal to the reader family.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/op/kernel/blocked_ops.h"
#include "argosy/ops/queue/queue_state.h"
#include "argosy/tensor/resource.h"

namespace argosy {

using Record = std::pair<std::string, std::string>;  // key, value

// One kind of file. Not synchronised.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  // `name` as the queue had it, `path` as it may be opened. OUT_OF_RANGE and the like end the file at once.
  virtual Status open(const std::string& name, const std::string& path) = 0;
  // The next record of the open file; false at its end.
  virtual Result<bool> next(Record& record) = 0;
  virtual bool ended() const { return false; }         // there is no other record, as is known without looking
  virtual bool names_only() const { return false; }    // no file is opened
  virtual bool serializable() const { return false; }  // its place is told by the counts alone
};

class Reader final : public Resource, public std::enable_shared_from_this<Reader> {
 public:
  // What becomes of a file's name: the path that may be opened.
  using Resolve = std::function<Result<std::string>(const std::string& name)>;
  struct Request {
    std::shared_ptr<QueueState> names;  // of files
    QueueState::Caller caller;
    Resolve resolve;
    std::int64_t most = 1;
    std::function<void(Status, std::vector<Record>)> done;
  };

  explicit Reader(std::unique_ptr<RecordFormat> format) : format_(std::move(format)) {}
  std::string describe() const override { return "reader"; }

  // Up to `most` records, one at least, all of one file.
  void read(Request request);
  std::int64_t records();
  std::int64_t files();
  Result<std::string> state();
  Status restore(const std::string& state);
  void reset();

 private:
  struct Turn;
  void go_on(const std::shared_ptr<Turn>& turn);
  // Reads from the open file; true when the turn is over.
  bool read_some(Turn& turn);
  void take_file(Turn& turn, Status status, QueueState::Tuple element);
  void end(const std::shared_ptr<Turn>& turn);

  const std::unique_ptr<RecordFormat> format_;  // belongs to whose turn it is
  BlockedOps turns_{BlockedOps::Order::kStrict};
  // Guarded by turns_.mutex().
  bool busy_ = false;
  std::int64_t started_ = 0, finished_ = 0, records_ = 0;
  std::string name_;  // of the last file
};

// That of an op of this name. INVALID_ARGUMENT, UNIMPLEMENTED.
Result<std::unique_ptr<RecordFormat>> record_format(std::string_view op, const AttrMap& attrs);

}  // namespace argosy
