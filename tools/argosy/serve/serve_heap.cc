#include "tools/argosy/serve/serve_heap.h"

#include <malloc.h>

#include "argosy/base/threads/parallel.h"

namespace argosy::cli {

void tune_server_heap() {
  // Large requests arrive in megabytes of fresh pieces: memory that goes back to the system after each of them costs a
  // page fault for every 4 KiB of the next, more than all copying.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  // glibc's eight heaps a core, each with pages in part used, would grow for hours; more than cores never work at once.
  mallopt(M_ARENA_MAX, available_cores());
}

}  // namespace argosy::cli
