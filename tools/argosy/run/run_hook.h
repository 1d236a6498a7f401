// The folder that a program started by `argosy run` finds first on PYTHONPATH: the files of run_hook/, written out for
// as long as this object lives.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::cli {

class RunHook {
 public:
  // Into a fresh folder of the system's temporary one. Errors name that folder; they are those of files.
  static Result<RunHook> write();
  RunHook(RunHook&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  RunHook& operator=(RunHook&&) = delete;
  ~RunHook();  // removes it
  // Does the destructor's work, for programs that end without it.
  void remove() const;

  // The folder; the program's sockets are in it, too.
  const std::string& folder() const { return folder_; }
  // The tasks of clusters whose servers the program started: "/job:ps/task:0 at a:2222" each.
  std::vector<std::string> served() const;
  // This process' environment ("NAME=value") with PYTHONPATH begun by the folder, ARGOSY_TARGET, and GLIBC_TUNABLES
  // that ask for huge pages, unless they say something of them. `more`: further ones, "NAME=value".
  std::vector<std::string> environment(const std::string& target, const std::vector<std::string>& more = {}) const;

 private:
  explicit RunHook(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

}  // namespace argosy::cli
