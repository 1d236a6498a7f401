// Issue 31: a graph ended the server for all its clients (a tf.cond that assigns its own boolean reference variable, a
// Case without branches, ReadFile of a file larger than memory). Every program here runs against one server; then
// another client's session, opened before, still works.
#include <fcntl.h>
#include <unistd.h>

#include "argosy/base/system/test_files.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;

std::string type(const std::string& attr, const std::string& dtype) {
  return "attr { key: '" + attr + "' value { type: " + dtype + " } } ";
}
std::string count(const std::string& attr, int n) {
  return "attr { key: '" + attr + "' value { i: " + std::to_string(n) + " } } ";
}
std::string types(const std::string& attr, const std::string& list) {
  return "attr { key: '" + attr + "' value { list { " + list + " } } } ";
}
std::string function(const std::string& attr, const std::string& name) {
  return "attr { key: '" + attr + "' value { func { name: '" + name + "' } } } ";
}
std::string constant(const std::string& name, const std::string& dtype, const std::string& value) {
  return node(name, "Const", {},
              type("dtype", dtype) + "attr { key: 'value' value { tensor { dtype: " + dtype + " tensor_shape {} " +
                  value + " } } } ");
}
std::string ref_variable(const std::string& name, const std::string& dtype) {
  return node(name, "VariableV2", {}, type("dtype", dtype) + "attr { key: 'shape' value { shape {} } } ");
}
const std::string kBool = "DT_BOOL", kFloat = "DT_FLOAT";

// tf.cond(v, lambda: v.assign(False), lambda: v.assign(True)), as TensorFlow 1.x writes it; `merge` and `input` are how
// the branches meet: references or values.
std::string cond_on_itself(const std::string& merge, const std::string& third) {
  const std::string t = type("T", kBool);
  return ref_variable("v", kBool) + constant("yes", kBool, "bool_val: true") +
         constant("no", kBool, "bool_val: false") + node("init", "Assign", {"v", "yes"}, t) +
         node("id", "Identity", {"v"}, t) + node("switch", "Switch", {"v", "v"}, t) +
         node("ref", "RefSwitch", {"v", "id"}, t) + node("then", "Assign", {"ref:1", "no"}, t) +
         node("else", "Assign", {"ref", "yes"}, t) + node("value", "Identity", {"switch"}, t) +
         node("out", merge, {third, "then"}, t + count("N", 2));
}

class SurvivesTest : public ServerTest {
 protected:
  void SetUp() override {
    start();
    other_ = create();
  }
  void TearDown() override {
    const auto r = run(other_, {.feeds = {{"x:0", Tensor::scalar(2.0f)}}, .fetches = {"y:0"}});
    ASSERT_EQ(r.code, 0) << r.message;
    EXPECT_EQ(r["y:0"].to_string(), "float[] {4}");
    EXPECT_EQ(client_->close(other_).code, 0);
  }
  // An error of creating the session or of the step.
  StepReply run_graph(const std::string& nodes, const StepCall& call) {
    RawReply reply;
    const std::string s = client_->create(graph_text(nodes), "", &reply);
    if (s.empty()) return {.code = reply.code, .message = reply.message};
    StepReply step = run(s, call);
    EXPECT_EQ(client_->close(s).code, 0);
    return step;
  }
  std::string other_;
};

TEST_F(SurvivesTest, ACondThatAssignsItsOwnPredicate) {
  for (const std::string merge : {"Merge", "RefMerge"}) {
    for (const std::string third : {"else", "value"}) {
      if (merge == "RefMerge" && third == "value") continue;  // no reference
      RawReply reply;
      const std::string s = client_->create(graph_text(cond_on_itself(merge, third)), "", &reply);
      ASSERT_NE(s, "") << reply.message;
      ASSERT_EQ(run(s, {.targets = {"init"}}).code, 0);
      const auto first = run(s, {.fetches = {"out:0"}});
      ASSERT_EQ(first.code, 0) << merge << " of " << third << ": " << first.message;
      EXPECT_EQ(first["out:0"].to_string(), "bool[] {false}") << merge << " of " << third;
      const auto second = run(s, {.fetches = {"out:0"}});
      ASSERT_EQ(second.code, 0) << merge << " of " << third << ": " << second.message;
      EXPECT_EQ(second["out:0"].to_string(), third == "else" ? "bool[] {true}" : "bool[] {false}");
      EXPECT_EQ(client_->close(s).code, 0);
    }
  }
}

TEST_F(SurvivesTest, AFileLargerThanMemory) {
  const TempDirectory folder;
  const std::string path = folder.path("sparse");
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::ftruncate(file, off_t{1} << 42), 0);
  ::close(file);
  const auto r = run_graph(constant("f", "DT_STRING", "string_val: '" + path + "'") + node("r", "ReadFile", {"f"}, ""),
                           {.fetches = {"r:0"}});
  EXPECT_EQ(r.code, code(Code::kResourceExhausted)) << r.message;
  EXPECT_THAT(r.message, HasSubstr("--mem cpu:0"));
}

struct Program {
  std::string name, nodes, fetch;
};

std::vector<Program> programs() {
  const std::string t = type("T", kFloat);
  const std::string x = constant("x", kFloat, "float_val: 1"), i = constant("i", "DT_INT32", "int_val: 0");
  const std::string none = types("Tin", "") + types("Tout", "type: DT_FLOAT");
  const std::string one = types("Tin", "type: DT_FLOAT") + types("Tout", "type: DT_FLOAT");
  return {
      {"a Case without branches", x + i + node("y", "Case", {"i", "x"}, one + types("branches", "")), "y:0"},
      {"a StatelessCase without branches", x + i + node("y", "StatelessCase", {"i", "x"}, one + types("branches", "")),
       "y:0"},
      {"an If of functions that are not there",
       x + node("y", "If", {"x", "x"},
                type("Tcond", kFloat) + one + function("then_branch", "no") + function("else_branch", "no")),
       "y:0"},
      {"a While of functions that are not there",
       x + node("y", "While", {"x"}, types("T", "type: DT_FLOAT") + function("cond", "no") + function("body", "no")),
       "y:0"},
      {"a call of nothing", x + node("y", "StatefulPartitionedCall", {"x"}, one + function("f", "")), "y:0"},
      {"a call without a function", x + node("y", "PartitionedCall", {"x"}, one), "y:0"},
      {"a call that wants no inputs but has one", x + node("y", "PartitionedCall", {"x"}, none + function("f", "no")),
       "y:0"},
      {"a Merge of nothing", node("y", "Merge", {}, t + count("N", 0)), "y:0"},
      {"a Merge that counts more than it has", x + node("y", "Merge", {"x"}, t + count("N", 1 << 30)), "y:0"},
      {"a Merge of minus one", x + node("y", "Merge", {"x"}, t + count("N", -1)), "y:0"},
      {"a Switch on a float", x + node("y", "Switch", {"x", "x"}, t), "y:0"},
      {"a Switch on an index", x + i + node("y", "Switch", {"x", "i"}, t), "y:1"},
      {"a RefSwitch of a value", x + constant("b", kBool, "bool_val: true") + node("y", "RefSwitch", {"x", "b"}, t),
       "y:0"},
      {"a RefSelect of nothing", i + node("y", "RefSelect", {"i"}, t + count("N", 0)), "y:0"},
      {"an assignment to a value", x + node("y", "Assign", {"x", "x"}, t), "y:0"},
      {"a read of a float", x + node("y", "ReadVariableOp", {"x"}, type("dtype", kFloat)), "y:0"},
      {"a handle where a float is due",
       node("h", "VarHandleOp", {}, type("dtype", kFloat) + "attr { key: 'shape' value { shape {} } } ") +
           node("y", "Neg", {"h"}, t),
       "y:0"},
      {"a variable read as another type",
       node("h", "VarHandleOp", {}, type("dtype", kFloat) + "attr { key: 'shape' value { shape {} } } ") + x +
           node("set", "AssignVariableOp", {"h", "x"}, type("dtype", kFloat)) +
           node("y", "ReadVariableOp", {"h", "^set"}, type("dtype", "DT_INT32")),
       "y:0"},
      {"a dequeue from a variable",
       node("h", "VarHandleOp", {}, type("dtype", kFloat) + "attr { key: 'shape' value { shape {} } } ") +
           node("y", "QueueDequeueV2", {"h"}, types("component_types", "type: DT_FLOAT")),
       "y:0"},
      {"a sum of nothing", node("y", "AddN", {}, t + count("N", 0)), "y:0"},
      {"a Pack of nothing", node("y", "Pack", {}, t + count("N", 0)), "y:0"},
      {"an Exit outside of loops", x + node("y", "Exit", {"x"}, t), "y:0"},
      {"a NextIteration outside of loops", x + node("y", "NextIteration", {"x"}, t), "y:0"},
      {"a LoopCond on a float", x + node("y", "LoopCond", {"x"}, ""), "y:0"},
      {"an uninitialised reference", ref_variable("v", kFloat) + node("y", "Neg", {"v"}, t), "y:0"},
  };
}

TEST_F(SurvivesTest, ProgramsThatCannotBeRun) {
  for (const Program& p : programs()) {
    const auto r = run_graph(p.nodes, {.fetches = {p.fetch}});
    if (p.name.starts_with("an Exit") || p.name.starts_with("a NextIteration")) continue;  // a value or an error
    EXPECT_NE(r.code, 0) << p.name;
    EXPECT_NE(r.code, code(Code::kUnavailable)) << p.name << ": " << r.message;
    EXPECT_NE(r.code, code(Code::kDeadlineExceeded)) << p.name << ": " << r.message;
    EXPECT_FALSE(r.message.empty()) << p.name;
    EXPECT_THAT(r.message, testing::Not(HasSubstr("check failed"))) << p.name;
  }
}

}  // namespace
}  // namespace argosy::tf
