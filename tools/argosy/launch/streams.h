// Streams: routes the output of tasks to files, to this program's standard output (task 0's alone) and standard error.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/base/system/file.h"
#include "tools/argosy/launch/console_output.h"
#include "tools/argosy/launch/outcome.h"

namespace argosy::cli {

// Which streams: bit 0 is standard output, bit 1 standard error. "3", or by task "0:1,1:3"; torchrun's words.
struct StreamChoice {
  int all = 0;
  std::map<int, int> of_task;
  static Result<StreamChoice> parse(std::string_view flag, std::string_view text);
  int of(int rank) const;
};

struct StreamOptions {
  std::string directory;   // DIR/task-N/{stdout,stderr,error.json}; empty: no files
  StreamChoice redirects;  // to files and not to the console
  bool labels = true;      // "[1] " before lines of several tasks
};

// Used by one thread. What goes to the console waits for its reader without holding anybody up: console_output.h.
class Streams {
 public:
  Streams();
  static Result<std::unique_ptr<Streams>> open(const StreamOptions& options, const std::vector<int>& ranks, int lowest);
  // Writes to the task's file and the console. A file that fails, on a full disk, is told once and given up; its stream
  // goes to the console from then on.
  void write(int rank, bool is_error, std::string_view bytes);
  void end(const TaskOutcome& outcome);  // its last line, and error.json

  // Output waits for a reader of the console: take no more of it.
  bool full() const { return out_->full() || err_->full(); }
  bool written() const { return out_->empty() && err_->empty(); }
  // Gives up a console of which nothing was read for `patience`, counted from `asked` at the earliest, and says so.
  void give_up_unread(ConsoleOutput::Time asked, std::chrono::milliseconds patience);

 private:
  struct Files {
    std::unique_ptr<File> out, err;
    std::string out_line, err_line;  // not ended yet
    int failed = 0;                  // streams whose file failed, as in StreamChoice
  };
  void not_kept(int rank, const Status& error);  // says so
  void show(int rank, std::string& line, std::string_view bytes);

  StreamOptions options_;
  int lowest_ = 0;  // the rank whose standard output is ours
  bool several_ = false;
  std::map<int, Files> files_;
  std::shared_ptr<ConsoleOutput> out_, err_;  // one where both are one file: lines of two writers would mix
};

}  // namespace argosy::cli
