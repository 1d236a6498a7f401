// What the control groups of this process allow it, in version 1 and 2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace argosy {

// The files called `v2_name` (version 2) or `v1_name` (version 1, of `controller`) of the process's own group and of
// every group around it: a limit in any of them holds. `groups` is the text of /proc/self/cgroup. Most of them do not
// exist.
std::vector<std::string> cgroup_files(std::string_view groups, std::string_view controller, std::string_view v2_name,
                                      std::string_view v1_name);

// The text of a small file, as much of it as can be read. Never throws.
std::string read_small_file(const std::string& path);

}  // namespace argosy
