// Which files a graph may touch. A program's own graphs may touch whatever its user may; those of a server's clients
// only what lies in the folders the server allows (DeviceSet::set_files).
//
// A kernel calls allowed_file() for every path that comes from a graph. It opens the path that it gets back with the
// functions of base/system/file.h. Links may change between the two calls: that path is opened without leaving the folder
// (base/system/confined_path.h). Ops with such kernels say OpDef::opens_files, and tests try each of them.
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
  FilePolicy() = default;  // everything
  // What lies in these folders or below; none: nothing. NOT_FOUND for a folder that is not there.
  static Result<FilePolicy> within(const std::vector<std::string>& folders);

  // The path with every link and ".." resolved, also a link to a file that does not exist, as a confined path of its
  // folder. The file need not exist. Without a policy: the path as it is. A leading "file://" is dropped.
  // PERMISSION_DENIED when it is not allowed; UNIMPLEMENTED for other schemes ("gs://").
  Result<std::string> check(std::string_view path) const;

 private:
  bool everything_ = true;
  std::vector<std::string> folders_;  // resolved, with a '/' at the end
};

// By the policy of the step's device set; outside a step everything is allowed.
Result<std::string> allowed_file(const KernelContext& c, std::string_view path);

}  // namespace argosy
