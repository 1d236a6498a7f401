#include "argosy/cluster/job_place.h"

#include <algorithm>

namespace argosy {

std::vector<int> JobPlace::own_share(int count) const {
  std::vector<int> own;
  for (int i = local_rank; i < count; i += std::max(local_size, 1)) own.push_back(i);
  return own;
}

int JobPlace::own_threads(int cores) const { return std::max(1, cores / std::max(local_size, 1)); }

}  // namespace argosy
