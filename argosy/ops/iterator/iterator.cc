#include "argosy/ops/iterator/iterator.h"

#include "argosy/graph/function_body.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status scalars_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  c.set_all_outputs(PartialShape::scalar());
  return ok_status();
}

Status from_value_shape(ShapeContext& c) {
  c.set_output(0, PartialShape::scalar());
  return ok_status();
}

Status elements_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  const auto& shapes = c.attrs().get<std::vector<PartialShape>>("output_shapes");
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return invalid_argument("`output_shapes` must be the same length as `output_types` (", shapes.size(), " vs. ",
                            c.num_outputs(), ")");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<std::size_t>(i)]);
  return ok_status();
}

Status position_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  c.set_output(0, PartialShape{PartialShape::kUnknown});
  return ok_status();
}

// All inputs are scalars.
Status shard_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  return elements_shape(c);
}

Status restored_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return c.with_rank(1, 1).status();
}

std::vector<OpRow> iterator_rows() {
  // Waits for nothing that its own step does: it needs no partner, like a collective of one.
  const OpFacts waits = {.async = true, .collective = true};
  const std::string types = "output_types: list(type) >= 1", shapes = "output_shapes: list(shape) >= 1";
  const std::string devices = "devices: list(string) >= 1";
  const std::string any_types = "output_types: list(type) >= 0 = []",
                    any_shapes = "output_shapes: list(shape) >= 0 = []";
  const std::vector<std::string> named = {"shared_name: string", "container: string", types, shapes};
  const std::vector<std::string> deleted = {"handle: resource", "deleter: variant"};
  return {
      {"Iterator", "The iterator of that name.", {}, {"handle: resource"}, named},
      {"IteratorV2", "The iterator of that name.", {}, {"handle: resource"}, named},
      {"OneShotIterator",
       "An iterator over the dataset that the function makes.",
       {},
       {"handle: resource"},
       {"dataset_factory: func", types, shapes, "container: string = ''", "shared_name: string = ''"}},
      {"AnonymousIterator", "An iterator without a name.", {}, {"handle: resource"}, {types, shapes}},
      {"AnonymousIteratorV2", "An iterator without a name.", {}, deleted, {types, shapes}},
      {"AnonymousIteratorV3", "An iterator without a name.", {}, {"handle: resource"}, {types, shapes}},
      {"MakeIterator",
       "Sets the iterator to the beginning of the dataset.",
       {"dataset: variant", "iterator: resource"},
       {},
       {}},
      {"DeleteIterator", "Lets go of the iterator.", deleted, {}, {}, no_output},
      {"IteratorGetNext",
       "The next element.",
       {"iterator: resource"},
       {"components: output_types"},
       {types, shapes},
       elements_shape,
       waits},
      {"IteratorGetNextSync",
       "The next element.",
       {"iterator: resource"},
       {"components: output_types"},
       {types, shapes},
       elements_shape,
       waits},
      {"IteratorGetNextAsOptional",
       "The next element, or an empty optional at the end.",
       {"iterator: resource"},
       {"optional: variant"},
       {types, shapes},
       scalars_shape,
       waits},
      {"IteratorToStringHandle",
       "A text that names the iterator.",
       {"resource_handle: resource"},
       {"string_handle: string"},
       {}},
      {"IteratorFromStringHandle",
       "The iterator that a text names.",
       {"string_handle: string"},
       {"resource_handle: resource"},
       {any_types, any_shapes}},
      {"IteratorFromStringHandleV2",
       "The iterator that a text names.",
       {"string_handle: string"},
       {"resource_handle: resource"},
       {any_types, any_shapes}},
      {"IteratorGetDevice", "The device that the iterator is on.", {"resource: resource"}, {"device: string"}, {}},
      {"ExperimentalIteratorGetDevice",
       "The device that the iterator is on.",
       {"resource: resource"},
       {"device: string"},
       {}},
      {"MultiDeviceIterator",
       "The iterator of that name, whose elements go to these devices in turn.",
       {},
       {"handle: resource"},
       {devices, named[0], named[1], types, shapes}},
      {"AnonymousMultiDeviceIterator",
       "An iterator without a name, whose elements go to these devices in turn.",
       {},
       deleted,
       {devices, types, shapes}},
      {"AnonymousMultiDeviceIteratorV3",
       "An iterator without a name, whose elements go to these devices in turn.",
       {},
       {"handle: resource"},
       {devices, types, shapes}},
      {"MultiDeviceIteratorInit",
       "Sets the iterator to the beginning of the dataset; gives the number of this pass.",
       {"dataset: variant", "multi_device_iterator: resource", "max_buffer_size: int64"},
       {"incarnation_id: int64"},
       {}},
      {"MultiDeviceIteratorGetNextFromShard",
       "The next element of one shard.",
       {"multi_device_iterator: resource", "shard_num: int32", "incarnation_id: int64"},
       {"components: output_types"},
       {types, shapes},
       shard_shape,
       waits},
      {"MultiDeviceIteratorToStringHandle",
       "A text that names the iterator.",
       {"multi_device_iterator: resource"},
       {"string_handle: string"},
       {}},
      {"MultiDeviceIteratorFromStringHandle",
       "The iterator that a text names.",
       {"string_handle: string"},
       {"multi_device_iterator: resource"},
       {any_types, any_shapes}},
      {"DeleteMultiDeviceIterator",
       "Lets go of the iterator.",
       {"multi_device_iterator: resource", "iterators: N * resource", "deleter: variant"},
       {},
       {"N: int >= 0"},
       no_output},
      {"SerializeIterator",
       "Where the iterator is, as variants that can be saved; functions with a state of their own are not asked for "
       "it.",
       {"resource_handle: resource"},
       {"serialized: variant"},
       {"external_state_policy: int = 0"},
       position_shape},
      {"DeserializeIterator",
       "Takes an iterator over the same dataset there: what lies before is computed again.",
       {"resource_handle: resource", "serialized: variant"},
       {},
       {},
       restored_shape},
  };
}

std::vector<OpRow> optional_rows() {
  const std::string types = "output_types: list(type) >= 1", shapes = "output_shapes: list(shape) >= 1";
  return {
      {"OptionalFromValue",
       "An optional that holds these tensors.",
       {"components: Toutput_types"},
       {"optional: variant"},
       {"Toutput_types: list(type) >= 1"},
       from_value_shape},
      {"OptionalNone", "An optional that holds nothing.", {}, {"optional: variant"}, {}, scalars_shape},
      {"OptionalHasValue",
       "Does the optional hold something?",
       {"optional: variant"},
       {"has_value: bool"},
       {},
       scalars_shape},
      {"OptionalGetValue",
       "What the optional holds.",
       {"optional: variant"},
       {"components: output_types"},
       {types, shapes},
       elements_shape},
  };
}

// What datasets keep between iterators: cached elements and seeds.
std::vector<OpRow> cache_rows() {
  const std::vector<std::string> deleted = {"handle: resource", "deleter: variant"};
  return {
      {"AnonymousMemoryCache", "Where cached elements are kept.", {}, deleted, {}},
      {"DummyMemoryCache", "No cache: the dataset has its own.", {}, {"handle: resource"}, {}},
      {"DummySeedGenerator", "No seeds: the dataset has its own.", {}, {"handle: resource"}, {}},
      {"AnonymousSeedGenerator",
       "Seeds for iterators.",
       {"seed: int64", "seed2: int64", "reshuffle: bool"},
       deleted,
       {}},
      {"AnonymousRandomSeedGenerator", "Seeds for iterators.", {"seed: int64", "seed2: int64"}, deleted, {}},
      {"DeleteMemoryCache", "Lets go of the cache.", deleted, {}, {}, no_output},
      {"DeleteSeedGenerator", "Lets go of the seeds.", deleted, {}, {}, no_output},
      {"DeleteRandomSeedGenerator", "Lets go of the seeds.", deleted, {}, {}, no_output},
  };
}

// The next element of the iterator, component by component.
std::vector<Value> next_of(Value handle, const InputPipeline& elements) {
  std::vector<Value> next;
  if (!handle.valid()) return next;
  const Value first = handle.graph().add("IteratorGetNext", {handle},
                                         {{"output_types", elements.types}, {"output_shapes", elements.shapes}});
  for (std::size_t i = 0; i < elements.types.size(); ++i) next.push_back(first.output(static_cast<int>(i)));
  return next;
}

}  // namespace

static void add_iterator_ops(OpRegistry& ops) {
  const OpFacts optionals = {
      .shape = scalars_shape, .cost = free_cost, .cpu_only = true, .in_host_memory = true, .blocks_gradient = true};
  OpFacts stateful = optionals;
  stateful.stateful = true;
  add_rows(ops, iterator_rows(), stateful);
  add_rows(ops, optional_rows(), optionals);
  add_rows(ops, cache_rows(), stateful);
}

void define_iterator(OpRegistry& ops) {
  with_sharding(ops, add_iterator_ops, {}, "once: an iterator stands at one element");
}

IteratorValue initializable_iterator(const InputPipeline& elements, std::string_view name) {
  IteratorValue iterator;
  if (!elements.dataset.valid()) return iterator;
  Graph& graph = elements.dataset.graph();
  iterator.handle = graph.add(
      "IteratorV2", {},
      {{"shared_name", ""}, {"container", ""}, {"output_types", elements.types}, {"output_shapes", elements.shapes}},
      name);
  iterator.initializer = graph.add("MakeIterator", {elements.dataset, iterator.handle});
  iterator.next = next_of(iterator.handle, elements);
  return iterator;
}

IteratorValue one_shot_iterator(Graph& graph, const std::function<InputPipeline(Graph&)>& make, std::string_view name) {
  IteratorValue iterator;
  FunctionBody body(graph, "make_dataset");
  const InputPipeline elements = make(body.graph());
  const auto f = body.finish({elements.dataset});
  if (f == nullptr || !elements.dataset.valid()) return iterator;
  if (!body.captures().empty()) {
    graph.fail(
        invalid_argument("the dataset of a one-shot iterator takes '", body.captures()[0].name(), "' from around it")
            .with_id("ARG-ITERATOR-003")
            .with_hint("make everything it needs inside, or use initializable_iterator"));
    return iterator;
  }
  iterator.handle = graph.add(
      "OneShotIterator", {},
      {{"dataset_factory", FunctionRef{f->name}}, {"output_types", elements.types}, {"output_shapes", elements.shapes}},
      name);
  iterator.next = next_of(iterator.handle, elements);
  return iterator;
}

}  // namespace argosy
