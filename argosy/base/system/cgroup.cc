#include "argosy/base/system/cgroup.h"

#include <array>
#include <cstdio>

#include "argosy/base/str.h"

namespace argosy {

std::string read_small_file(const std::string& path) {
  // Not by a stream: its buffer throws where the kernel says no half way (the file of a thread that ends meanwhile).
  std::string text;
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return text;
  std::array<char, 4096> piece;
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), file)) text.append(piece.data(), count);
  std::fclose(file);
  return text;
}

std::vector<std::string> cgroup_files(std::string_view groups, std::string_view controller, std::string_view v2_name,
                                      std::string_view v1_name) {
  // The roots too, whatever the text says: a container sees its own group there, under a path from outside.
  std::vector<std::string> files = {str_cat("/sys/fs/cgroup/", v2_name),
                                    str_cat("/sys/fs/cgroup/", controller, "/", v1_name)};
  for (const std::string& line : str_split(groups, '\n')) {
    // "0::/path" or "4:cpu,cpuacct:/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    bool ours = false;
    for (const std::string& name : str_split(controllers, ',')) ours = ours || name == controller;
    if (!ours && !controllers.empty()) continue;
    std::string path = line.substr(second + 1);
    for (; path.size() > 1; path.erase(path.rfind('/'))) {
      files.push_back(controllers.empty() ? str_cat("/sys/fs/cgroup", path, "/", v2_name)
                                          : str_cat("/sys/fs/cgroup/", controller, path, "/", v1_name));
    }
  }
  return files;
}

}  // namespace argosy
