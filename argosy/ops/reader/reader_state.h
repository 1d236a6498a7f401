// Reader: the resource behind a reader's handle: its current file, and the reads that wait for their turn or for a file
// name. Internal to the reader family.
//
// Reads are served one at a time, first come, first served. Thread-safe.
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

// Reads the records of one kind of file. Not synchronised.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  // `name`: the name from the queue; `path`: the path to open. An error ends the read, and skips the file.
  virtual Status open(const std::string& name, const std::string& path) = 0;
  // The next record of the open file; false at its end.
  virtual Result<bool> next(Record& record) = 0;
  virtual bool ended() const { return false; }         // true if it is known, without reading, that no record is left
  virtual bool names_only() const { return false; }    // true if no file is opened
  virtual bool serializable() const { return false; }  // true if the counts alone tell the position
};

class Reader final : public Resource, public std::enable_shared_from_this<Reader> {
 public:
  // Turns a file's name into the path to open, or an error where it must not be opened.
  using Resolve = std::function<Result<std::string>(const std::string& name)>;
  struct Request {
    std::shared_ptr<QueueState> names;  // the queue of file names
    QueueState::Caller caller;
    Resolve resolve;
    std::int64_t most = 1;
    std::function<void(Status, std::vector<Record>)> done;
  };

  explicit Reader(std::unique_ptr<RecordFormat> format) : format_(std::move(format)) {}
  std::string describe() const override { return "reader"; }

  // Reads at least one and up to `most` records, all of one file.
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

  const std::unique_ptr<RecordFormat> format_;  // used only by the read whose turn it is
  BlockedOps turns_{BlockedOps::Order::kStrict};
  // Guarded by turns_.mutex().
  bool busy_ = false;
  std::int64_t started_ = 0, finished_ = 0, records_ = 0;
  std::string name_;  // the name of the last file
};

// The format of the reader op of this name. INVALID_ARGUMENT: its attributes; UNIMPLEMENTED: there is none.
Result<std::unique_ptr<RecordFormat>> record_format(std::string_view op, const AttrMap& attrs);

}  // namespace argosy
