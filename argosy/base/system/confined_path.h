// Confined paths: names below a folder that must not be left, whatever links are put there meanwhile.
//
// A confined path is text, "<folder><kConfined><rest>". It names the same file as "<folder>/<rest>" for every system
// call, so that suffixes can be added and parents taken as of any path; the functions of file.h open it one component
// after the other from the folder on and never outside it.
#pragma once

#include <string>
#include <string_view>

namespace argosy {

// Nobody writes this by hand: in a path that no policy made it would mean no more than '/'.
inline constexpr std::string_view kConfined = "/.///./";

// `folder`: canonical; `rest`: relative, without "..", or empty, which is the folder itself.
std::string confined_path(std::string_view folder, std::string_view rest);
// For people: "<folder>/<rest>"; every other path as it is.
std::string plain_path(const std::string& path);

// The system calls of these names; a path that is not confined is given to them as it is. A link that leads out of the
// folder: EACCES. Errors as the system calls have them: -1 and errno.
int open_confined(const std::string& path, int flags, unsigned mode = 0);
int mkdir_confined(const std::string& path, unsigned mode);
int rename_confined(const std::string& from, const std::string& to);
int unlink_confined(const std::string& path);
int rmdir_confined(const std::string& path);

}  // namespace argosy
