#include "argosy/tf/model/load_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "argosy/runtime/session/session.h"
#include "argosy/tf/graph/tools/graph_tools.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGraph = R"(
node { name: "y" op: "Mul" input: "x" input: "two" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "two" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 } } } }
node { name: "stop" op: "StopGradient" input: "y" attr { key: "T" value { type: DT_FLOAT } } device: "/device:GPU:7" }
node { name: "z" op: "Neg" input: "stop" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "odd" op: "NoSuchOp" input: "y" }
versions { producer: 2474 }
)";

class LoadGraph : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              str_cat("load_graph_", ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  std::filesystem::path folder_;
};

float run(LoadedGraph& model, const char* in, const char* out) {
  Session session(model.graph());
  const auto x = model.value(in), y = model.value(out);
  EXPECT_TRUE(x.ok() && y.ok()) << y.status().to_string();
  const auto values = session.run({{*x, Tensor::scalar(3.0f)}}, {*y});
  EXPECT_TRUE(values.ok()) << values.status().to_string();
  return values.ok() ? *values->at(0).data<float>() : 0;
}

TEST_F(LoadGraph, TextAndBinary) {
  const std::string text = write("graph.pbtxt", kGraph);
  auto model = load_graph(text);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(run(*model, "x", "y:0"), 6);
  EXPECT_EQ(model->node_names().size(), 6u);
  EXPECT_FALSE(model->has_variables());
  EXPECT_EQ(model->value("odd").status().code(), Code::kNotFound);
  EXPECT_EQ(model->value("nothing").status().code(), Code::kNotFound);

  const auto form = tf::GraphForm::read(text, {}, model->graph().ops());
  ASSERT_TRUE(form.ok());
  const std::string binary = (folder_ / "graph.pb").string();
  ASSERT_TRUE(form->save(binary).ok());
  auto again = load_graph(binary);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(run(*again, "x", "z"), -6);
  EXPECT_TRUE(form->differences(*tf::GraphForm::read(binary, {}, again->graph().ops())).empty());
}

TEST_F(LoadGraph, MetaGraph) {
  const std::string meta = str_cat("graph_def { ", kGraph, " }\nsaver_def { restore_op_name: 'restore' }\n");
  auto model = load_graph(write("model.meta.pbtxt", meta));
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(run(*model, "x", "y"), 6);
  EXPECT_TRUE(model->has_variables());
  Session session(model->graph());
  EXPECT_EQ(model->restore(session).code(), Code::kFailedPrecondition);
  EXPECT_EQ(model->restore(session, (folder_ / "nothing").string()).code(), Code::kNotFound);
}

TEST_F(LoadGraph, SavedModel) {
  const auto meta = [](const std::string& tags) {
    return str_cat("meta_graphs { meta_info_def { ", tags, " } graph_def { ", kGraph, R"( }
      signature_def { key: 'serving_default' value { method_name: 'predict'
        inputs { key: 'question' value { name: 'x:0' } } outputs { key: 'answer' value { name: 'z:0' } } } } }
)");
  };
  write("one/saved_model.pbtxt", "saved_model_schema_version: 1\n" + meta("tags: 'serve'"));
  auto model = load_graph((folder_ / "one").string());
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  ASSERT_EQ(model->signatures().size(), 1u);
  EXPECT_EQ(model->signature()->inputs.at("question"), "x:0");
  EXPECT_EQ(model->signature("other"), nullptr);
  EXPECT_EQ(run(*model, "question", "answer"), -6);
  Session session(model->graph());
  EXPECT_TRUE(model->restore(session).ok());

  write("two/saved_model.pbtxt", meta("tags: 'train'") + meta("tags: 'serve' tags: 'gpu'"));
  const std::string two = (folder_ / "two").string();
  EXPECT_TRUE(load_graph(two, {.tags = {"gpu", "serve"}}).ok());
  const auto neither = load_graph(two);
  EXPECT_EQ(neither.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(neither.status().message(), HasSubstr("{train}, {gpu, serve}"));
}

// Issue 31: Keras exports "serve" and "serving_default" with the same names of other values; the first by name was
// taken.
TEST_F(LoadGraph, NamesAreOfTheServingSignatureOrOfTheOneChosen) {
  const auto signature = [](const char* name, const char* answer) {
    return str_cat("signature_def { key: '", name,
                   "' value { inputs { key: 'question' value { name: 'x:0' dtype: DT_FLOAT",
                   " tensor_shape { dim { size: -1 } dim { size: 3 } } } } outputs { key: 'answer' value { name: '",
                   answer, ":0' } } } }");
  };
  const auto model_of = [&](const std::string& signatures) {
    write("m/saved_model.pbtxt",
          str_cat("meta_graphs { meta_info_def { tags: 'serve' } graph_def { ", kGraph, " } ", signatures, " }"));
    return load_graph((folder_ / "m").string()).value();
  };
  auto model = model_of(signature("again", "y") + signature("serving_default", "z"));
  EXPECT_EQ(run(model, "question", "answer"), -6);
  auto chosen = model_of(signature("again", "y") + signature("serving_default", "z"));
  ASSERT_TRUE(chosen.use_signature("again").ok());
  EXPECT_EQ(run(chosen, "question", "answer"), 6);
  EXPECT_EQ(chosen.use_signature("none").code(), Code::kNotFound);

  auto neither = model_of(signature("a", "y") + signature("b", "z"));
  EXPECT_TRUE(neither.value("question").ok());  // the same in both
  EXPECT_EQ(neither.value("answer").status().id(), "ARG-IMPORT-015");
  EXPECT_EQ(neither.signatures()[0].to_string(), "signature a: feed question float[?,3]; fetch answer");
}

TEST_F(LoadGraph, AGraphWithoutSignaturesHasEnds) {
  const auto model = load_graph(write("graph.pbtxt", kGraph)).value();
  EXPECT_EQ(model.ends().inputs.count("x"), 1U);
  EXPECT_EQ(model.ends().outputs.count("z"), 1U);
  EXPECT_EQ(model.ends().outputs.count("y"), 0U);  // others read it
}

TEST_F(LoadGraph, RefusesWhatIsNoGraph) {
  EXPECT_EQ(load_graph((folder_ / "none.pb").string()).status().code(), Code::kNotFound);
  EXPECT_EQ(load_graph(folder_.string()).status().code(), Code::kNotFound);
  EXPECT_EQ(load_graph(write("a.pb", "\xff\xfe\xfd")).status().code(), Code::kInvalidArgument);
  const auto text = load_graph(write("a.pbtxt", "node {\n  name: }\n"));
  EXPECT_EQ(text.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(text.status().message(), HasSubstr("line 2, column 9"));
}

// export_meta_graph(as_text=True) writes text into .meta; people keep text in .txt, and bytes in .pbtxt.
TEST_F(LoadGraph, WhatIsInAFileSaysWhetherItIsText) {
  const std::string meta = str_cat("meta_info_def { tags: 'serve' }\ngraph_def { ", kGraph, " }\n");
  for (const std::string& text : {std::string(kGraph), "# a comment\n" + meta, "saver_def { version: V2 }\n" + meta,
                                  "\xef\xbb\xbfmeta_graphs { " + meta + " }", "meta_graphs: < " + meta + " >"}) {
    for (const char* name : {"g.txt", "g.pb", "g.meta", "g", "g.pbtxt"}) {
      auto model = load_graph(write(name, text));
      ASSERT_TRUE(model.ok()) << name << ": " << model.status().to_string();
      EXPECT_EQ(run(*model, "x", "y"), 6) << name;
    }
  }
  const auto form = tf::GraphForm::read(write("g.txt", kGraph), {}, Graph().ops());
  ASSERT_TRUE(form.ok() && form->save((folder_ / "g.pb").string()).ok());
  std::filesystem::rename(folder_ / "g.pb", folder_ / "bytes.pbtxt");
  EXPECT_TRUE(load_graph((folder_ / "bytes.pbtxt").string()).ok());
  // Its first error, though a GraphDef leaves out what is in fields that it lacks.
  const auto wrong = load_graph(write("g.txt", meta + "saver_def { version: V9 }\n"));
  EXPECT_THAT(wrong.status().message(), HasSubstr("MetaGraphDef as text: line"));
  EXPECT_FALSE(load_graph(write("notes.pbtxt", "key: value\n")).ok());
  EXPECT_TRUE(load_graph(write("empty.pbtxt", "# nothing yet\n")).ok());
}

TEST_F(LoadGraph, FilesOfKerasNameTheWayToASavedModel) {
  for (const std::string& bytes : {std::string("PK\x03\x04\0\0", 6), std::string("\x89HDF\r\n\x1a\n\0", 9)}) {
    EXPECT_THAT(load_graph(write("m.keras", bytes)).status().hint(), HasSubstr("export(FOLDER)"));
  }
  EXPECT_THAT(load_graph((folder_ / "none.pb").string()).status().hint(), HasSubstr("check the path"));
}

TEST_F(LoadGraph, VariablesThatNothingRestoresAreNamed) {
  const auto model_of = [&](const std::string& restored) {
    const auto variable = [](const char* name) {
      return str_cat("node { name: '", name, "' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } ",
                     "attr { key: 'shared_name' value { s: 'the ", name, "' } } }\n");
    };
    write("m/saved_model.pbtxt",
          str_cat("meta_graphs { graph_def { ", variable("kernel"), variable("other"),
                  "node { name: 'read' op: 'ReadVariableOp' input: 'kernel' }\n"
                  "node { name: 'set' op: 'AssignVariableOp' input: '",
                  restored,
                  "' input: 'one' }\n"
                  "node { name: 'one' op: 'Const' }\n"
                  "node { name: 'restore' op: 'NoOp' input: '^set' } }\n"
                  "saver_def { restore_op_name: 'restore' }\n"
                  "signature_def { key: 'a' value { outputs { key: 'answer' value { name: 'read:0' } } } } }"));
    return load_graph((folder_ / "m").string()).value();
  };
  EXPECT_THAT(model_of("other").unrestored(), ::testing::ElementsAre("the kernel"));
  EXPECT_THAT(model_of("kernel").unrestored(), ::testing::IsEmpty());
  EXPECT_THAT(load_graph(write("graph.txt", kGraph))->unrestored(), ::testing::IsEmpty());
  EXPECT_THAT(model_of("other").node_ops(), ::testing::Contains("AssignVariableOp"));
}

TEST_F(LoadGraph, Strips) {
  const std::string path = write("graph.pbtxt", kGraph);
  const OpRegistry& ops = Graph().ops();
  auto form = tf::GraphForm::read(path, {}, ops);
  ASSERT_TRUE(form.ok());
  EXPECT_EQ(form->strip({.outputs = {"nothing"}}).status().code(), Code::kNotFound);
  ASSERT_TRUE(form->strip({.outputs = {"z:0"}, .devices = true}).ok());
  EXPECT_EQ(form->num_nodes(), 4);
  EXPECT_EQ(form->text(), "y = Mul(x, two)\nx = Placeholder()\ntwo = Const()\nz = Neg(y)\n");
  const auto differences = tf::GraphForm::read(path, {}, ops)->differences(*form);
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[0].what, "node odd");
  EXPECT_EQ(differences[1].what, "node stop");
  EXPECT_EQ(differences[2].details, "inputs (stop) | (y)");
}

}  // namespace
}  // namespace argosy
