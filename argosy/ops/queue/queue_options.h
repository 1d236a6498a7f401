// What a queue is: its kind, its components, how much it takes. Internal to the queue and barrier families.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/ops/queue/queue_items.h"

namespace argosy {

enum class QueueKind { kFifo, kShuffle, kPadding, kPriority };

struct QueueOptions {
  QueueKind kind = QueueKind::kFifo;
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;  // of each component; empty: elements may have any
  std::int64_t capacity = 0;
  std::int64_t min_after_dequeue = 0;  // kShuffle: so many stay, to be mixed, until the queue is closed
  std::int64_t seed = 0, seed2 = 0;

  std::string_view kind_name() const;  // "FIFOQueue"
  // INVALID_ARGUMENT saying how the options asked for differ from these, which the queue of this name has.
  Status check_same(std::string_view name, const QueueOptions& asked) const;
  // May these be an element, one tensor a component? INVALID_ARGUMENT names the component that may not.
  Status check_element(const QueueItems::Tuple& element) const;
  // May these be rows, each of them an element? The same.
  Status check_rows(const QueueItems::Tuple& rows) const;
};

}  // namespace argosy
