// QueueOptions: a queue's kind, components and capacity. Internal to the queue and barrier families.
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
  std::vector<PartialShape> shapes;  // of each component; empty: any shapes
  std::int64_t capacity = 0;
  std::int64_t min_after_dequeue = 0;  // kShuffle: this many stay, to be shuffled, until the queue is closed
  std::int64_t seed = 0, seed2 = 0;

  std::string_view kind_name() const;  // "FIFOQueue"
  // INVALID_ARGUMENT, naming the difference, unless `asked` equals these options, which the queue `name` has.
  Status check_same(std::string_view name, const QueueOptions& asked) const;
  // Checks whether these tensors, one per component, can be an element. INVALID_ARGUMENT names the component that
  // cannot.
  Status check_element(const QueueItems::Tuple& element) const;
  // The same for a batch: each row of the tensors is to be an element.
  Status check_rows(const QueueItems::Tuple& rows) const;
};

}  // namespace argosy
