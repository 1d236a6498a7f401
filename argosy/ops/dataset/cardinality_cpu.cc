// Ops that ask about a dataset without iterating, and that serialize datasets.
#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "argosy/formats/proto/wire.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

constexpr char kContainer[] = "_datasets as texts";

Status compute_batch_size(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const DatasetPtr dataset, dataset_in(c.input(0)));
  c.set_output(0, Tensor::scalar(dataset->batch_size()));
  return ok_status();
}

// Serializes a dataset. A dataset is a value of this process, which no text can hold. Distribution strategies use the
// text to copy the dataset to another device in the same step, so it names the dataset that the step keeps. Others
// search it for an op, as Keras does for a shuffle, so it is a GraphDef of the ops, without their attributes.
std::string graph_def_of(const DatasetPtr& dataset, const std::string& name) {
  std::vector<DatasetPtr> all = {dataset};
  std::unordered_map<const DatasetValue*, std::size_t> places = {{dataset.get(), 0}};
  const auto name_of = [&](std::size_t place) { return place == 0 ? name : str_cat(name, "/", place); };
  const auto put_bytes = [](std::string& to, int field, const std::string& bytes) {
    tf::put_varint(to, static_cast<std::uint64_t>(field) << 3 | 2);
    tf::put_varint(to, bytes.size());
    to += bytes;
  };
  std::string graph;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string node;
    put_bytes(node, 1, name_of(i));
    put_bytes(node, 2, all[i]->op());
    for (const DatasetPtr& input : all[i]->inputs()) {
      const auto [place, is_new] = places.try_emplace(input.get(), all.size());
      if (is_new) all.push_back(input);
      put_bytes(node, 3, name_of(place->second));
    }
    put_bytes(graph, 1, node);
  }
  return graph;
}

class Held final : public Resource {
 public:
  explicit Held(DatasetPtr held) : dataset(std::move(held)) {}
  std::string describe() const override { return "dataset"; }
  const DatasetPtr dataset;
};

Status to_graph(KernelContext& c) {
  static std::atomic<std::int64_t> last{0};
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr dataset, dataset_in(c.input(0)));
  if (c.step() == nullptr) return failed_precondition(c.node(), ": a dataset becomes a text within a step only");
  const std::string text = graph_def_of(dataset, str_cat("dataset_of_this_step_", ++last));
  ARGOSY_RETURN_IF_ERROR(c.step()
                             ->step_resources()
                             .find_or_make<Held>(kContainer, text, [&] { return std::make_shared<Held>(dataset); })
                             .status());
  c.set_output(0, Tensor::scalar(text));
  return ok_status();
}

Status from_graph(KernelContext& c) {
  if (c.input(0).shape().rank() != 0) return invalid_argument("graph_def must be a scalar");
  const std::string& text = *c.input(0).data<std::string>();
  if (c.step() != nullptr) {
    const auto held = c.step()->step_resources().find<Held>(kContainer, text);
    if (held.ok()) {
      c.set_output(0, dataset_handle((*held)->dataset));
      return ok_status();
    }
  }
  return unimplemented("DatasetFromGraph takes what DatasetToGraph gave in the same step, not ", text.size(),
                       " bytes from elsewhere")
      .with_id("ARG-DATASET-002")
      .with_hint("make the dataset in the graph that runs it");
}

// A dataset's value is the same on every device.
Status pass_on(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(dataset_in(c.input(0)).status());
  c.set_output(0, c.input(0));
  return ok_status();
}

// True for ops that TensorFlow looks through when it searches for the batch op.
bool keeps_batches(std::string_view op) {
  static constexpr std::string_view kOps[] = {"AssertCardinalityDataset",
                                              "CacheDataset",
                                              "CacheDatasetV2",
                                              "FilterDataset",
                                              "ParseExampleDataset",
                                              "ParseExampleDatasetV2",
                                              "PrefetchDataset",
                                              "RepeatDataset",
                                              "ShardDataset",
                                              "ShuffleDataset",
                                              "ShuffleDatasetV2",
                                              "ShuffleDatasetV3",
                                              "ShuffleAndRepeatDataset",
                                              "SkipDataset",
                                              "ShuffleAndRepeatDatasetV2",
                                              "TakeDataset"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

}  // namespace

std::int64_t UnaryDataset::batch_size() const { return keeps_batches(op()) ? input().batch_size() : -1; }

void add_known(KernelRegistry& kernels) {
  kernels.add("ComputeBatchSize", "cpu", compute_batch_size);
  kernels.add("DatasetToGraph", "cpu", to_graph);
  kernels.add("DatasetToGraphV2", "cpu", to_graph);
  kernels.add("DatasetFromGraph", "cpu", from_graph);
  kernels.add("WrapDatasetVariant", "cpu", pass_on);
  kernels.add("UnwrapDatasetVariant", "cpu", pass_on);
}

}  // namespace argosy::datasets
