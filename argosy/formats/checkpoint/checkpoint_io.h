// The file-system operations of a save. Each first calls an IoHook, so that tests can make it fail. Internal to
// argosy/formats.
#pragma once

#include <string>

#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/checkpoint.h"

namespace argosy::tf {

class CheckpointIo {
 public:
  CheckpointIo(IoHook hook, bool durable) : hook_(std::move(hook)), durable_(durable) {}

  Status before(std::string_view operation, const std::string& path) const {
    return hook_ ? hook_(operation, path) : ok_status();
  }
  Result<File> create(const std::string& path) const {
    ARGOSY_RETURN_IF_ERROR(before("create", path));
    return File::create(path);
  }
  // Syncs the file if durable, and closes it.
  Status finish(File& file) const {
    ARGOSY_RETURN_IF_ERROR(before("sync", file.path()));
    if (durable_) ARGOSY_RETURN_IF_ERROR(file.sync());
    return file.close();
  }
  Status rename(const std::string& from, const std::string& to) const {
    ARGOSY_RETURN_IF_ERROR(before("rename", to));
    return rename_file(from, to);
  }
  Status sync_directory(const std::string& directory) const {
    ARGOSY_RETURN_IF_ERROR(before("sync_directory", directory));
    return durable_ ? argosy::sync_directory(directory) : ok_status();
  }
  Status remove(const std::string& path) const {
    ARGOSY_RETURN_IF_ERROR(before("remove", path));
    return remove_file(path);
  }
  // Writes a small file atomically: temporary name, sync, rename, sync of the directory.
  Status replace(const std::string& path, std::string_view bytes) const;

 private:
  IoHook hook_;
  bool durable_;
};

// Returns "<path>.tmp-<process>-<moment>". is_temporary() recognises it; after a crash the next Saver removes it.
std::string temporary_path(const std::string& path);
bool is_temporary(std::string_view name);

}  // namespace argosy::tf
