// Confined paths: names below a folder that stay below it, even when somebody adds links meanwhile.
//
// A confined path is the text "<folder><kConfined><rest>". For every system call it names the same file as
// "<folder>/<rest>". So code may add suffixes and take parents as of any path. The functions of file.h open it
// component by component from the folder on, and never leave the folder.
#pragma once

#include <string>
#include <string_view>

namespace argosy {

// Nobody types this by hand; in a path that no policy made it means no more than '/'.
inline constexpr std::string_view kConfined = "/.///./";

// `folder`: canonical; `rest`: relative, without "..", or empty, which is the folder itself.
std::string confined_path(std::string_view folder, std::string_view rest);
// For people: "<folder>/<rest>"; every other path as it is.
std::string plain_path(const std::string& path);

// As the system calls of these names, for confined paths; other paths are passed to the system call unchanged. A link
// that leads out of the folder: EACCES. They return -1 and set errno.
int open_confined(const std::string& path, int flags, unsigned mode = 0);
int mkdir_confined(const std::string& path, unsigned mode);
int rename_confined(const std::string& from, const std::string& to);
int unlink_confined(const std::string& path);
int rmdir_confined(const std::string& path);

}  // namespace argosy
