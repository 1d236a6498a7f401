// Iterators saved and restored: a position is how many elements were given and what its shuffles drew, so that another
// pass over the same dataset can come there again. What lies before it is computed once more.
#include <cstring>

#include "argosy/formats/checkpoint/stored_variant.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/iterator/iterator_kernels.h"
#include "argosy/ops/iterator/iterator_state.h"

namespace argosy::datasets {

namespace {

constexpr const char* kType = "argosy::IteratorPosition";

// --- as bytes: the kind of dataset as text and a 0, then numbers of 8 bytes ------------------------------------------

std::string kind_of(const DatasetValue& dataset) {
  std::string kind = dataset.op();
  for (const DType type : dataset.types()) kind += str_cat(" ", dtype_name(type));
  return kind;
}

void put(std::string& to, std::int64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  to.append(bytes, sizeof number);
}

std::string encode(const std::string& kind, const IteratorPosition& position) {
  std::string bytes = kind;
  bytes += '\0';
  put(bytes, position.given);
  for (const SeedDraw& draw : position.draws) {
    for (const std::int64_t n : {draw.first.seed, draw.first.seed2, draw.given.seed, draw.given.seed2, draw.before}) {
      put(bytes, n);
    }
  }
  return bytes;
}

Status not_a_position(std::string_view why) {
  return invalid_argument("what is to be restored is no position of this iterator: ", why).with_id("ARG-ITERATOR-004");
}

Result<IteratorPosition> decode(const std::string& kind, std::string_view bytes) {
  constexpr std::size_t kNumber = sizeof(std::int64_t), kDraw = 5 * kNumber;
  const std::size_t end = bytes.find('\0');
  if (end == std::string_view::npos) return not_a_position("it is damaged");
  if (bytes.substr(0, end) != kind) {
    return not_a_position(str_cat("it is of a ", bytes.substr(0, end), ", not of a ", kind));
  }
  bytes.remove_prefix(end + 1);
  if (bytes.size() % kDraw != kNumber || bytes.size() / kDraw > SeedLog::kMost) return not_a_position("it is damaged");
  const auto take = [&] {
    std::int64_t number = 0;
    std::memcpy(&number, bytes.data(), kNumber);
    bytes.remove_prefix(kNumber);
    return number;
  };
  IteratorPosition position{.given = take(), .draws = {}};
  if (position.given < 0) return not_a_position(str_cat("it is behind ", position.given, " elements"));
  while (!bytes.empty()) {
    SeedDraw draw;
    for (std::int64_t* n : {&draw.first.seed, &draw.first.seed2, &draw.given.seed, &draw.given.seed2, &draw.before}) {
      *n = take();
    }
    if (draw.before < 0 || draw.before == INT64_MAX) return not_a_position("its seeds are damaged");
    position.draws.push_back(draw);
  }
  return position;
}

// --- kernels ---------------------------------------------------------------------------------------------------------

Status serialize(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto state, c.resource<IteratorState>(0));
  ARGOSY_ASSIGN_OR_RETURN(std::string bytes, state->save());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {1}));
  *y->data<Variant>() = Variant(std::make_shared<tf::StoredVariant>(kType, std::move(bytes)));
  return ok_status();
}

Status deserialize(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto state, c.resource<IteratorState>(0));
  const Tensor& saved = c.input(1);
  if (!(saved.shape() == Shape{1})) {
    return invalid_argument("DeserializeIterator: a position is a vector of one variant, not of shape ", saved.shape());
  }
  const tf::StoredVariant* const value = tf::stored_variant(*saved.data<Variant>());
  if (value == nullptr || value->type() != kType) {
    return not_a_position(value == nullptr ? "it is no position at all" : str_cat("it is a ", value->type()));
  }
  return state->restore(value->bytes());
}

}  // namespace

Result<std::string> IteratorState::save() {
  MutexLock lock(mutex_);
  if (gone_) return iterator_is_gone();
  if (pipeline_ == nullptr) {
    return failed_precondition(
               "Save() failed because the iterator has not been initialized. Ensure that you have run the initializer "
               "operation for this iterator before saving it.")
        .with_id("ARG-ITERATOR-001");
  }
  ARGOSY_ASSIGN_OR_RETURN(const IteratorPosition position, pipeline_->position());
  return encode(kind_of(*dataset_), position);
}

Status IteratorState::restore(std::string_view saved) {
  DatasetPtr dataset;
  {
    MutexLock lock(mutex_);
    if (gone_) return iterator_is_gone();
    dataset = dataset_;
  }
  if (dataset == nullptr) {
    return failed_precondition(
               "Restore() failed because the iterator has not been initialized. Ensure that you have run the "
               "initializer operation for this iterator before restoring it.")
        .with_id("ARG-ITERATOR-001");
  }
  const std::string kind = kind_of(*dataset);
  ARGOSY_ASSIGN_OR_RETURN(IteratorPosition position, decode(kind, saved));
  return start(std::move(dataset), std::move(position));
}

void add_positions(KernelRegistry& kernels) {
  kernels.add("SerializeIterator", "cpu", serialize);
  kernels.add("DeserializeIterator", "cpu", deserialize);
}

}  // namespace argosy::datasets
