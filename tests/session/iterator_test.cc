#include "argosy/ops/iterator/iterator.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "argosy/graph/function_body.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/queue/queue.h"
#include "tests/session/pipeline_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Values = const std::vector<Value>&;
using namespace std::chrono_literals;

TEST(Iterators, SayWhatIsMissingAndStartOver) {
  Graph graph;
  const IteratorValue iterator = initializable_iterator(range_dataset(graph, 0, 2));
  TestSession session(graph);
  const auto early = session.run(iterator.next);
  EXPECT_EQ(early.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(early.status().message(), HasSubstr("the iterator has not been initialized"));
  for (int i = 0; i < 2; ++i) {
    const Elements all = run_to_end(session, iterator);
    EXPECT_THAT(all.values, ElementsAre("0", "1"));
    EXPECT_EQ(all.end.code(), Code::kOutOfRange);
  }
}

const AttrMap kNumbers = {{"output_types", std::vector<DType>{DType::kInt64}},
                          {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};

TEST(Iterators, WithASharedNameOutliveTheirSession) {
  Graph graph;
  AttrMap attrs = kNumbers;
  attrs.set("shared_name", std::string("shared"));
  attrs.set("container", std::string());
  const Value handle = graph.add("IteratorV2", {}, attrs);
  const Value start = graph.add("MakeIterator", {range_dataset(graph, 0, 3).dataset, handle}).control();
  const Value next = graph.add("IteratorGetNext", {handle}, kNumbers);
  TestSession first(graph);
  ASSERT_TRUE(first.run_targets({start}).ok());
  EXPECT_EQ(values_of((*first.run({next}))[0]), "0");
  TestSession second(graph, {.device_set = {std::shared_ptr<DeviceSet>(), &first.device_set()}});
  EXPECT_EQ(values_of((*second.run({next}))[0]), "1");
}

// The step that starts this iterator goes to the variable's device, and no other step has a reason to.
TEST(Iterators, StayOnTheDeviceOfTheStepThatMadeThem) {
  Graph graph;
  const Value variable = [&] {
    const auto there = graph.device("/gpu:0");
    return graph.add("VarHandleOp", {},
                     {{"dtype", DType::kInt64}, {"shape", PartialShape::scalar()}, {"shared_name", "v"}});
  }();
  const Value assign = graph.add("AssignVariableOp", {variable, constant(graph, std::int64_t{7})}).control();
  FunctionBody body(graph, "sum");
  const Value element = body.parameter(DType::kInt64, PartialShape::scalar());
  const Value handle = body.parameter(DType::kResource, PartialShape::scalar());
  body.finish({element + element.graph().add("ReadVariableOp", {handle}, {{"dtype", DType::kInt64}})});
  AttrMap attrs = kNumbers;
  attrs.set("f", FunctionRef{body.name()});
  attrs.set("Targuments", std::vector<DType>{DType::kResource});
  const Value sums = graph.add("MapDataset", {range_dataset(graph, 0, 3).dataset, variable}, attrs, "sums");
  AttrMap beside = kNumbers;  // TensorFlow colocates an iterator and its dataset
  beside.set("_class", std::vector<std::string>{"loc:@sums"});
  AttrMap named = beside;
  named.set("shared_name", std::string());
  named.set("container", std::string());
  const Value iterator = graph.add("IteratorV2", {}, named);
  const Value start = graph.add("MakeIterator", {sums, iterator}, {{"_class", std::vector<std::string>{"loc:@sums"}}});
  const Value next = graph.add("IteratorGetNext", {iterator}, beside);
  TestSession session(graph, {.devices = {.devices = "gpu:0", .emulate = "1"}});
  ASSERT_TRUE(session.run_targets({assign}).ok());
  const Status started = session.run_targets({start.control()});
  ASSERT_TRUE(started.ok()) << started.to_string();
  const auto one = session.run({next});
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  EXPECT_EQ(values_of((*one)[0]), "7");
}

// As in TensorFlow. Sessions of one server took elements from each other, and initialized each other's iterators.
TEST(Iterators, WithoutASharedNameBelongToTheirSession) {
  Graph graph;
  const IteratorValue made = initializable_iterator(range_dataset(graph, 0, 5), "made");
  const IteratorValue once = one_shot_iterator(
      graph, [](Graph& g) { return range_dataset(g, 0, 5); }, "once");
  const Value text = graph.add("IteratorToStringHandle", {made.handle});
  const Value fed = placeholder(graph, DType::kString, PartialShape::scalar(), "which");
  const Value any = graph.add("IteratorFromStringHandle", {fed}, kNumbers);
  const Value of_any = graph.add("IteratorGetNext", {any}, kNumbers);
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  const auto device_set = DeviceSet::make({});
  ASSERT_TRUE(device_set.ok());
  TestSession first(graph, {.device_set = *device_set}), second(graph, {.device_set = *device_set});
  const auto next = [](TestSession& session, const std::vector<Value>& of) { return values_of((*session.run(of))[0]); };
  EXPECT_EQ(next(first, once.next), "0");
  EXPECT_EQ(next(second, once.next), "0");
  EXPECT_EQ(next(first, once.next), "1");
  ASSERT_TRUE(first.run_targets({made.initializer}).ok());
  EXPECT_EQ(next(first, made.next), "0");
  EXPECT_EQ(second.run(made.next).status().code(), Code::kFailedPrecondition);
  ASSERT_TRUE(second.run_targets({made.initializer}).ok());
  EXPECT_EQ(next(first, made.next), "1");
  EXPECT_EQ(next(second, made.next), "0");
  // Texts name one session's iterator, in other sessions, too.
  const auto named = first.run({text});
  ASSERT_TRUE(named.ok()) << named.status().to_string();
  EXPECT_EQ(values_of((*first.run({{fed, (*named)[0]}}, {of_any}))[0]), "2");
  EXPECT_EQ(values_of((*second.run({{fed, (*named)[0]}}, {of_any}))[0]), "3");
  Session helper(graph, {.device_set = *device_set, .share_op_state_with = &first});
  EXPECT_EQ(values_of((*helper.run(made.next))[0]), "4") << "part of the first session";
  ASSERT_TRUE(first.close().ok());
  EXPECT_EQ(second.run({{fed, (*named)[0]}}, {of_any}).status().code(), Code::kNotFound) << "it ends with its session";
  EXPECT_EQ(next(second, made.next), "1");
}

// As in TensorFlow: a session's node makes its iterator once. An initializer made the deleted one usable again.
TEST(Iterators, OnceDeletedStayGoneInTheirSession) {
  for (const char* shared : {"", "shared"}) {
    Graph graph;
    const AttrMap elements{{"output_types", std::vector<DType>{DType::kInt64}},
                           {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
    AttrMap attrs = elements;
    attrs.set("shared_name", std::string(shared));
    attrs.set("container", std::string());
    const Value handle = graph.add("IteratorV2", {}, attrs, "it");
    const Value start = graph.add("MakeIterator", {range_dataset(graph, 0, 3).dataset, handle}).control();
    const Value next = graph.add("IteratorGetNext", {handle}, elements);
    const Value text = graph.add("IteratorToStringHandle", {handle});
    const Value gone = graph.add("DestroyResourceOp", {handle}, {{"ignore_lookup_error", false}}).control();
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    TestSession session(graph);
    ASSERT_TRUE(session.run_targets({start}).ok());
    EXPECT_EQ(values_of((*session.run({next}))[0]), "0");
    ASSERT_TRUE(session.run_targets({gone}).ok());
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(session.run({next}).status().code(), Code::kNotFound);
      EXPECT_EQ(session.run_targets({start}).code(), Code::kNotFound);
      EXPECT_EQ(session.run_targets({gone}).code(), Code::kNotFound);
    }
    EXPECT_EQ(session.run({text}).status().code(), Code::kNotFound) << "a step that is compiled later";
    TestSession second(graph, {.device_set = {std::shared_ptr<DeviceSet>(), &session.device_set()}});
    const Status begun = second.run_targets({start});
    EXPECT_TRUE(begun.ok()) << begun.to_string();
    EXPECT_TRUE(second.run({next}).ok());
  }
}

TEST(Iterators, OfOneShotMakeTheirDatasetThemselves) {
  Graph graph;
  const IteratorValue iterator = one_shot_iterator(graph, [](Graph& g) {
    return map_dataset(range_dataset(g, 0, 3), [](Values e) -> std::vector<Value> { return {e[0] * e[0]}; });
  });
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  TestSession session(graph);
  EXPECT_THAT(run_to_end(session, iterator).values, ElementsAre("0", "1", "4"));
}

// The step that asked ran out of time before the factory had its dataset: the iterator kept that error for ever.
TEST(Iterators, OfOneShotDoNotKeepTheErrorOfAStepThatEnded) {
  Graph graph;
  const QueueSpec gate{.dtypes = {DType::kInt64}, .shapes = {PartialShape::scalar()}, .shared_name = "gate"};
  const IteratorValue iterator = one_shot_iterator(
      graph, [&](Graph& g) { return tensor_dataset({dequeue(fifo_queue(g, gate), {DType::kInt64})[0]}); });
  const Value open = enqueue(fifo_queue(graph, gate), {constant(graph, std::int64_t{7})});
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  TestSession session(graph);
  for (int i = 0; i < 2; ++i) {
    const Status early = session.run({}, iterator.next, {}, {.timeout = 50ms}).status();
    EXPECT_EQ(early.code(), Code::kDeadlineExceeded) << early.to_string();
  }
  ASSERT_TRUE(session.run_targets({open}).ok());
  const auto next = session.run(iterator.next);
  ASSERT_TRUE(next.ok()) << next.status().to_string();
  EXPECT_EQ(values_of((*next)[0]), "7");
}

TEST(Iterators, DoNotDragEachOtherAlong) {
  Graph graph;
  const IteratorValue a = initializable_iterator(range_dataset(graph, 0, 9), "a");
  const IteratorValue b = initializable_iterator(range_dataset(graph, 10, 19), "b");
  TestSession session(graph);
  ASSERT_TRUE(session.run_targets({a.initializer, b.initializer}).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session.run(a.next).ok());
  EXPECT_EQ(values_of((*session.run(b.next))[0]), "10");
  EXPECT_EQ(values_of((*session.run({a.next[0] + b.next[0]}))[0]), "14");
}

TEST(Iterators, AreNamedByTexts) {
  Graph graph;
  const IteratorValue a = initializable_iterator(range_dataset(graph, 0, 3), "a");
  const IteratorValue b = initializable_iterator(range_dataset(graph, 10, 13), "b");
  const Value text_a = graph.add("IteratorToStringHandle", {a.handle});
  const Value text_b = graph.add("IteratorToStringHandle", {b.handle});
  const Value fed = placeholder(graph, DType::kString, PartialShape::scalar(), "which");
  const AttrMap attrs{{"output_types", std::vector<DType>{DType::kInt64}},
                      {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
  const Value any = graph.add("IteratorFromStringHandle", {fed}, attrs);
  const Value next = graph.add("IteratorGetNext", {any}, attrs);
  AttrMap floats = attrs;
  floats.set("output_types", std::vector<DType>{DType::kFloat32});
  const Value misfit = graph.add("IteratorFromStringHandleV2", {fed}, floats);
  TestSession session(graph);
  ASSERT_TRUE(session.run_targets({a.initializer, b.initializer}).ok());
  const auto texts = session.run({text_a, text_b});
  ASSERT_TRUE(texts.ok()) << texts.status().to_string();
  EXPECT_EQ(values_of((*session.run({{fed, (*texts)[0]}}, {next}))[0]), "0");
  EXPECT_EQ(values_of((*session.run({{fed, (*texts)[1]}}, {next}))[0]), "10");
  EXPECT_EQ(values_of((*session.run({{fed, (*texts)[0]}}, {next}))[0]), "1");
  const Status wrong = session.run({{fed, (*texts)[0]}}, {}, {misfit}).status();
  EXPECT_THAT(wrong.message(), HasSubstr("Data type mismatch at component 0: expected float but got int64."));
  EXPECT_EQ(session.run({{fed, Tensor::scalar("nonsense")}}, {next}).status().code(), Code::kInvalidArgument);
}

// A position is taken over by another session's iterator over the same dataset, whatever lies in between.
TEST(Iterators, GoOnWhereTheyWereSaved) {
  using Pipeline = std::function<InputPipeline(Graph&)>;
  const std::vector<std::pair<const char*, Pipeline>> pipelines = {
      {"shuffled anew each time",
       [](Graph& g) { return repeat_dataset(shuffle_dataset(range_dataset(g, 0, 7), 4, 3, 5), 4); }},
      {"left to chance", [](Graph& g) { return repeat_dataset(shuffle_dataset(range_dataset(g, 0, 7), 7), 4); }},
      {"read ahead",
       [](Graph& g) {
         return prefetch_dataset(batch_dataset(repeat_dataset(shuffle_dataset(range_dataset(g, 0, 9), 5, 1, 2), 3), 2),
                                 3);
       }},
      {"mapped", [](Graph& g) {
         return map_dataset(range_dataset(g, 0, 20), [](Values e) -> std::vector<Value> { return {e[0] * e[0]}; });
       }}};
  const auto all_left = [](TestSession& session, const IteratorValue& iterator) {
    std::vector<std::string> values;
    while (true) {
      const auto next = session.run(iterator.next);
      if (!next.ok()) return values;
      values.push_back(values_of((*next)[0]));
    }
  };
  for (const auto& [name, make] : pipelines) {
    for (const int before : {1, 5, 11}) {  // before the first element nothing is drawn yet
      SCOPED_TRACE(str_cat(name, " after ", before));
      Graph graph;
      const IteratorValue iterator = initializable_iterator(make(graph));
      const Value saved = graph.add("SerializeIterator", {iterator.handle});
      const Value position = placeholder(graph, DType::kVariant, {1}, "position");
      const Value restored = graph.add("DeserializeIterator", {iterator.handle, position});
      ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
      TestSession first(graph);
      EXPECT_EQ(first.run({saved}).status().code(), Code::kFailedPrecondition);
      ASSERT_TRUE(first.run_targets({iterator.initializer}).ok());
      for (int i = 0; i < before; ++i) ASSERT_TRUE(first.run(iterator.next).ok());
      const auto at = first.run({saved});
      ASSERT_TRUE(at.ok()) << at.status().to_string();
      const std::vector<std::string> rest = all_left(first, iterator);
      EXPECT_FALSE(rest.empty());
      for (int again = 0; again < 2; ++again) {
        const Status back = first.run({{position, (*at)[0]}}, {}, {restored}).status();
        ASSERT_TRUE(back.ok()) << back.to_string();
        EXPECT_EQ(all_left(first, iterator), rest);
      }
      TestSession second(graph);
      EXPECT_EQ(second.run({{position, (*at)[0]}}, {}, {restored}).status().code(), Code::kFailedPrecondition);
      ASSERT_TRUE(second.run_targets({iterator.initializer}).ok());
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(second.run(iterator.next).ok());
      ASSERT_TRUE(second.run({{position, (*at)[0]}}, {}, {restored}).ok());
      EXPECT_EQ(all_left(second, iterator), rest);
    }
  }
}

TEST(Iterators, RefusePositionsOfOthers) {
  Graph graph;
  const IteratorValue numbers = initializable_iterator(range_dataset(graph, 0, 2), "numbers");
  const IteratorValue taken = initializable_iterator(take_dataset(range_dataset(graph, 0, 2), 1), "taken");
  const Value saved = graph.add("SerializeIterator", {numbers.handle});
  const Value position = placeholder(graph, DType::kVariant, PartialShape::unknown(), "position");
  const Value restored = graph.add("DeserializeIterator", {taken.handle, position});
  TestSession session(graph);
  ASSERT_TRUE(session.run_targets({numbers.initializer, taken.initializer}).ok());
  const auto at = session.run({saved});
  ASSERT_TRUE(at.ok()) << at.status().to_string();
  EXPECT_THAT(session.run({{position, (*at)[0]}}, {}, {restored}).status().message(),
              HasSubstr("not of a TakeDataset"));
  for (const Tensor& bad : {Tensor::scalar(Variant()), Tensor::vector<Variant>({Variant()}),
                            Tensor::vector<Variant>({Variant(), Variant()})}) {
    EXPECT_EQ(session.run({{position, bad}}, {}, {restored}).status().code(), Code::kInvalidArgument);
  }
}

// What a gradient of Case adds up and fills with zeros: values that a branch kept, or none.
TEST(Iterators, OptionalsHaveZerosAndSums) {
  Graph graph;
  const AttrMap attrs{{"output_types", std::vector<DType>{DType::kInt64, DType::kString}},
                      {"output_shapes", std::vector<PartialShape>{PartialShape::scalar(), PartialShape::scalar()}}};
  const auto some = [&](std::int64_t n) {
    return graph.add("OptionalFromValue", {constant(graph, n), constant(graph, Tensor::scalar(std::string("word")))});
  };
  const auto of_number = [&](std::int64_t n) { return graph.add("OptionalFromValue", {constant(graph, n)}); };
  const Value zeros = graph.add("OptionalGetValue", {graph.add("ZerosLike", {some(3)})}, attrs);
  const AttrMap number{{"output_types", std::vector<DType>{DType::kInt64}},
                       {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
  const Value sum =
      graph.add("OptionalGetValue", {graph.add("AddN", {of_number(3), of_number(4), of_number(5)})}, number);
  const Value nothing = graph.add("OptionalNone", {});
  const Value none = graph.add("OptionalHasValue", {graph.add("ZerosLike", {nothing})});
  const Value no_sum = graph.add("OptionalHasValue", {graph.add("AddN", {nothing, of_number(1)})});
  const Value other = graph.add("OptionalHasValue", {graph.add("AddN", {some(1), of_number(1)})});
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  TestSession session(graph);
  const auto out = session.run({zeros, zeros.output(1), sum, none});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(values_of((*out)[0]), "0");
  EXPECT_EQ(*(*out)[1].data<std::string>(), "");
  EXPECT_EQ(values_of((*out)[2]), "12");
  EXPECT_EQ(values_of((*out)[3]), "false");
  EXPECT_THAT(session.run({no_sum}).status().message(), testing::HasSubstr("one has a value and the other doesn't"));
  EXPECT_THAT(session.run({other}).status().message(), testing::HasSubstr("different numbers of components (2 vs. 1)"));
}

TEST(Iterators, GiveOptionals) {
  Graph graph;
  const IteratorValue iterator = initializable_iterator(range_dataset(graph, 5, 6));
  const AttrMap attrs{{"output_types", std::vector<DType>{DType::kInt64}},
                      {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
  const Value optional = graph.add("IteratorGetNextAsOptional", {iterator.handle}, attrs);
  const Value has = graph.add("OptionalHasValue", {optional});
  const Value value = graph.add("OptionalGetValue", {optional}, attrs);
  const Value none = graph.add("OptionalHasValue", {graph.add("OptionalNone", {})});
  const Value some =
      graph.add("OptionalGetValue", {graph.add("OptionalFromValue", {constant(graph, std::int64_t{3})})}, attrs);
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  TestSession session(graph);
  ASSERT_TRUE(session.run_targets({iterator.initializer}).ok());
  const auto first = session.run({has, value, none, some});
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  EXPECT_EQ(values_of((*first)[0]) + values_of((*first)[1]) + values_of((*first)[2]) + values_of((*first)[3]),
            "true5false3");
  EXPECT_EQ(values_of((*session.run({has}))[0]), "false");
  const Status empty = session.run({value}).status();
  EXPECT_EQ(empty.code(), Code::kInvalidArgument);
  EXPECT_THAT(empty.message(), HasSubstr("The given optional does not have a value."));
}

TEST(Iterators, HaveOlderNames) {
  Graph graph;
  const AttrMap attrs{{"output_types", std::vector<DType>{DType::kInt64}},
                      {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
  AttrMap named = attrs;
  named.set("shared_name", std::string("shared"));
  named.set("container", std::string());
  const Value old = graph.add("Iterator", {}, named);
  const Value made = graph.add("MakeIterator", {range_dataset(graph, 4, 9).dataset, old});
  const Value next = graph.add("IteratorGetNextSync", {graph.add("IteratorV2", {}, named)}, attrs);
  TestSession session(graph);
  ASSERT_TRUE(session.run_targets({made}).ok());
  EXPECT_EQ(values_of((*session.run({next}))[0]), "4");
}

TEST(Iterators, WithoutNamesGoWithTheirHandle) {
  Graph graph;
  const AttrMap attrs{{"output_types", std::vector<DType>{DType::kInt64}},
                      {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
  for (const char* op : {"AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"}) {
    const Value handle = graph.add(op, {}, attrs);
    const Value made = graph.add("MakeIterator", {range_dataset(graph, 3, 5).dataset, handle});
    const auto after = graph.control_dependencies({made});
    const Value next = graph.add("IteratorGetNext", {handle}, attrs);
    const Value device = graph.add("IteratorGetDevice", {handle});
    const Value again = graph.add("ExperimentalIteratorGetDevice", {handle});
    TestSession session(graph);
    const auto out = session.run({next, device, again});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(values_of((*out)[0]), "3");
    EXPECT_THAT(values_of((*out)[1]), HasSubstr("CPU:0"));
    EXPECT_EQ(values_of((*out)[2]), values_of((*out)[1]));
  }
}

// A filter that is never true: whoever waits for its first element waits for ever.
InputPipeline never(Graph& g) {
  const InputPipeline endless = repeat_dataset(range_dataset(g, 0, 2));
  return filter_dataset(endless, [](Values e) { return less(e[0], constant(e[0].graph(), std::int64_t{-1})); });
}

TEST(Iterators, GiveUpWhenTheirStepDoes) {
  Graph graph;
  const IteratorValue iterator = initializable_iterator(prefetch_dataset(never(graph), 1));
  TestSession session(graph);
  ASSERT_TRUE(session.run_targets({iterator.initializer}).ok());
  const auto start = std::chrono::steady_clock::now();
  const auto late = session.run({}, iterator.next, {}, {.timeout = 50ms});
  EXPECT_EQ(late.status().code(), Code::kDeadlineExceeded);
  Cancellation cancellation;
  std::thread canceller([&] {
    std::this_thread::sleep_for(50ms);
    cancellation.cancel(cancelled("enough"));
  });
  EXPECT_EQ(session.run({}, iterator.next, {}, {.cancellation = &cancellation}).status().code(), Code::kCancelled);
  canceller.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST(Iterators, ServeManyStepsAtOnce) {
  Graph graph;
  const IteratorValue iterator = initializable_iterator(prefetch_dataset(range_dataset(graph, 0, 800), 4));
  TestSession session(graph);
  ASSERT_TRUE(session.run_targets({iterator.initializer}).ok());
  std::atomic<std::int64_t> sum{0}, count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (true) {
        const auto out = session.run(iterator.next);
        if (!out.ok()) return;
        sum += *(*out)[0].data<std::int64_t>();
        ++count;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count.load(), 800);
  EXPECT_EQ(sum.load(), 799 * 400);
}

TEST(Iterators, EndWithTheirMachineHoweverBusy) {
  for (int i = 0; i < 20; ++i) {
    Graph graph;
    const auto f = [](Values e) -> std::vector<Value> { return {e[0] + e[0]}; };
    const InputPipeline busy =
        prefetch_dataset(interleave_dataset(
                             map_dataset(repeat_dataset(range_dataset(graph, 0, 100)), f, 3),
                             [](Values e) { return repeat_dataset(tensor_dataset({e[0]}), 3); }, 2, 1, 2),
                         2);
    const IteratorValue iterator = initializable_iterator(busy);
    const IteratorValue stuck = initializable_iterator(prefetch_dataset(never(graph)));
    TestSession session(graph);
    ASSERT_TRUE(session.run_targets({iterator.initializer, stuck.initializer}).ok());
    for (int k = 0; k < i; ++k) ASSERT_TRUE(session.run(iterator.next).ok());
    if (i % 2 == 1) {
      const auto late = session.run({}, stuck.next, {}, {.timeout = std::chrono::milliseconds(1)});
      EXPECT_EQ(late.status().code(), Code::kDeadlineExceeded);
    }
    if (i % 3 == 0) {
      ASSERT_TRUE(session.run_targets({iterator.initializer}).ok());
    }
  }
}

}  // namespace
}  // namespace argosy
