// The limits of the control groups of this process, in version 1 and 2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace argosy {

// The paths of a limit's files: `v2_name` (version 2) or `v1_name` (version 1, of `controller`), for the process's own
// group and for every group around it. A limit in any of them holds. `groups` is the text of /proc/self/cgroup. Most of
// the files do not exist.
std::vector<std::string> cgroup_files(std::string_view groups, std::string_view controller, std::string_view v2_name,
                                      std::string_view v1_name);

// The text of a small file, as far as it can be read. Never throws.
std::string read_small_file(const std::string& path);

}  // namespace argosy
