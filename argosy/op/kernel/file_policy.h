// FilePolicy: the files that a graph may access. A program's own graphs have its user's rights. Graphs of a server's
// clients may access only the folders that the server allows (DeviceSet::set_files).
//
// A kernel calls allowed_file() for every path that comes from a graph. It opens the path that it gets back with the
// functions of base/system/file.h. Even if links change between the two calls, these functions do not leave the folder
// (base/system/confined_path.h). Ops with such kernels set OpDef::opens_files, and tests try each of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

class KernelContext;

// Immutable.
class FilePolicy {
 public:
  FilePolicy() = default;  // allows everything
  // Allows files in these folders and below; no folders: no file. NOT_FOUND: a folder does not exist.
  static Result<FilePolicy> within(const std::vector<std::string>& folders);

  // Returns the path as a confined path of its folder, with every link and ".." resolved. The file need not exist, nor
  // the target of a link. If everything is allowed, returns the path unchanged. Drops a leading "file://".
  // PERMISSION_DENIED: not allowed. UNIMPLEMENTED: another scheme ("gs://").
  Result<std::string> check(std::string_view path) const;

 private:
  bool everything_ = true;
  std::vector<std::string> folders_;  // resolved, with a '/' at the end
};

// Applies FilePolicy::check() of the step's device set. Outside a step everything is allowed.
Result<std::string> allowed_file(const KernelContext& c, std::string_view path);

}  // namespace argosy
