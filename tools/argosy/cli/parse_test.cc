#include "tools/argosy/cli/parse.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/help.h"

namespace argosy::cli {
namespace {

using ::testing::HasSubstr;

struct Values {
  std::int64_t steps = 200;
  double rate = 0.5;
  std::string optimizer = "adam", model;
  std::optional<int> seed;
  int check = 0;
  std::vector<std::string> with;
  bool trace = false;
};

// argosy train MODEL …; argosy ckpt ls FILES...
class ParseTest : public ::testing::Test {
 protected:
  ParseTest() {
    Command& train = program_.add("train", "Train a model");
    values_ = &train.own<Values>();
    train.argument("MODEL", values_->model, "which model", {.one_of = {"mlp", "lenet"}})
        .option("--steps N", values_->steps, "number of steps", {.least = 1, .most = 1e9})
        .option("-r,--rate X", values_->rate, "learning rate", {.least = 0})
        .option("--optimizer NAME", values_->optimizer, "update rule", {.one_of = {"sgd", "adam"}})
        .option("--seed N", values_->seed, "random seed")
        .option("--check N", values_->check, "check so many", {.least = 0, .most = 9, .implied = "3"})
        .option("--with THING", values_->with, "add a thing")
        .option("--trace", values_->trace, "write a trace")
        .json()
        .example("argosy train mlp", "the smallest")
        .runs([](Console&) -> Result<int> { return kDone; });
    Command& ls = program_.add("ckpt", "Checkpoints").add("ls", "List");
    files_ = &ls.own<std::vector<std::string>>();
    ls.argument("FILE", *files_, "checkpoints").runs([](Console&) -> Result<int> { return kDone; });
    Command& run = program_.add("run", "Run");
    words_ = &run.own<std::vector<std::string>>();
    run.argument("PROGRAM", *words_, "a program", {.may_be_empty = true})
        .option("-n,--np N", tasks_, "so many", {.least = 1})
        .option("--shard N", shard_, "over so many", {.implied = "all"})
        .json()
        .runs([](Console&) -> Result<int> { return kDone; });
    program_.add("version", "Version").runs([](Console&) -> Result<int> { return kDone; });
  }

  Parsed parse_words(const std::string& line) { return parse(program_, str_split(line, ' ')); }

  Command program_{"argosy", "test program"};
  Values* values_;
  std::vector<std::string>*files_, *words_;
  int tasks_ = 0;
  std::string shard_;
};

TEST_F(ParseTest, ANumberMayBeLeftOutWhereOneIsImplied) {
  const auto check = [&](std::vector<std::string> words) {
    values_->check = 0;
    const Parsed parsed = parse(program_, words);
    EXPECT_TRUE(parsed.status.ok()) << parsed.status.to_string();
    return values_->check;
  };
  EXPECT_EQ(check({"train", "mlp"}), 0);
  EXPECT_EQ(check({"train", "mlp", "--check"}), 3);
  EXPECT_EQ(check({"train", "--check", "mlp"}), 3);
  EXPECT_EQ(check({"train", "mlp", "--check", "--trace"}), 3);
  EXPECT_EQ(check({"train", "mlp", "--check", "5"}), 5);
  EXPECT_EQ(check({"train", "mlp", "--check=7"}), 7);
  EXPECT_EQ(check({"train", "mlp", "--check=0"}), 0);
  EXPECT_FALSE(parse(program_, {"train", "mlp", "--check", "10"}).status.ok());
  EXPECT_FALSE(parse(program_, {"train", "mlp", "--check", "-1"}).status.ok());
  EXPECT_FALSE(parse(program_, {"train", "mlp", "--check=x"}).status.ok());
  EXPECT_THAT(full_help(*program_.commands()[0]), HasSubstr("--check [N]"));
  // What follows "--" is somebody else's.
  EXPECT_TRUE(parse(program_, {"run", "--", "python", "--check"}).status.ok());
  EXPECT_EQ(*words_, (std::vector<std::string>{"python", "--check"}));
}

TEST_F(ParseTest, WordsForAnotherProgramMayBeEmpty) {
  const Parsed parsed = parse(program_, {"run", "--", "echo", "", "--color"});
  ASSERT_TRUE(parsed.status.ok()) << parsed.status.to_string();
  EXPECT_EQ(*words_, (std::vector<std::string>{"echo", "", "--color"}));
  EXPECT_THAT(parse(program_, {"ckpt", "ls", ""}).status.message(), HasSubstr("the value is empty"));
}

TEST_F(ParseTest, WhatFollowsAProgramIsItsOwn) {
  const auto words_of = [&](const std::string& line, bool json = false) {
    words_->clear();
    tasks_ = 0;
    shard_.clear();
    const Parsed parsed = parse_words(line);
    EXPECT_TRUE(parsed.status.ok()) << line << ": " << parsed.status.to_string();
    EXPECT_EQ(parsed.console.json, json) << line;
    return str_join(*words_, " ");
  };
  EXPECT_EQ(words_of("run python x.py --np 2 --json --epochs 3 -q"), "python x.py --np 2 --json --epochs 3 -q");
  EXPECT_EQ(tasks_, 0);
  EXPECT_EQ(words_of("run -n 2 --json python --json", true), "python --json");
  EXPECT_EQ(tasks_, 2);
  EXPECT_EQ(words_of("run -n2 python -n 3"), "python -n 3");
  EXPECT_EQ(words_of("run -np 2 python -np 3"), "python -np 3");
  EXPECT_EQ(words_of("run --np=2 --color never python x --help"), "python x --help");
  EXPECT_EQ(words_of("run --shard python --shard"), "python --shard");
  EXPECT_EQ(shard_, "all");
  EXPECT_EQ(words_of("run --shard 2 python"), "python");
  EXPECT_EQ(shard_, "2");
  EXPECT_EQ(words_of("run --shard all train mlp --steps"), "train mlp --steps");
  EXPECT_EQ(words_of("-q run python a -- b"), "python a -- b");
  EXPECT_EQ(words_of("run -n 2 -- python --json -- b"), "python --json -- b");
  EXPECT_THAT(parse_words("run --npp 2 python --json").status.message(), HasSubstr("unknown flag --npp"));
  EXPECT_THAT(parse_words("run --np").status.message(), HasSubstr("--np wants a value"));
}

TEST_F(ParseTest, SetsEveryKindOfOption) {
  const Parsed parsed = parse_words(
      "train lenet --steps=30 -r 1e-3 --optimizer sgd --seed -7 --with a --with b --trace --json --color never");
  ASSERT_TRUE(parsed.status.ok()) << parsed.status.to_string();
  EXPECT_EQ(parsed.command->path(), "argosy train");
  EXPECT_EQ(values_->model, "lenet");
  EXPECT_EQ(values_->steps, 30);
  EXPECT_EQ(values_->rate, 1e-3);
  EXPECT_EQ(values_->optimizer, "sgd");
  EXPECT_EQ(values_->seed, -7);
  EXPECT_THAT(values_->with, ::testing::ElementsAre("a", "b"));
  EXPECT_TRUE(values_->trace);
  EXPECT_TRUE(parsed.console.json);
  EXPECT_EQ(parsed.console.color, "never");
}

TEST_F(ParseTest, DefaultsStayAndTheLastOfTwoWins) {
  ASSERT_TRUE(parse_words("train mlp --steps 5 --steps 6").status.ok());
  EXPECT_EQ(values_->steps, 6);
  EXPECT_EQ(values_->rate, 0.5);
  EXPECT_FALSE(values_->seed.has_value());
}

TEST_F(ParseTest, AFileMayBeCalledLikeACommand) {
  const Parsed parsed = parse_words("ckpt ls version train -- --steps");
  ASSERT_TRUE(parsed.status.ok()) << parsed.status.to_string();
  EXPECT_EQ(parsed.command->path(), "argosy ckpt ls");
  EXPECT_THAT(*files_, ::testing::ElementsAre("version", "train", "--steps"));
}

TEST_F(ParseTest, HelpWinsOverEverythingElse) {
  EXPECT_EQ(parse_words("train --help --nonsense").action, Action::kFullHelp);
  EXPECT_EQ(parse_words("train -h").action, Action::kShortHelp);
  EXPECT_EQ(parse_words("ckpt").action, Action::kShortHelp);
  EXPECT_EQ(parse(program_, {}).action, Action::kShortHelp);
  EXPECT_EQ(parse_words("--version").action, Action::kVersion);
  EXPECT_EQ(parse_words("help").action, Action::kFullHelp);
  const Parsed asked = parse_words("help ckpt ls");
  EXPECT_EQ(asked.action, Action::kFullHelp);
  EXPECT_EQ(asked.command->path(), "argosy ckpt ls");
}

// The longest line of a help text that is no example.
std::size_t widest_line(const Command& command, const char* columns) {
  ::setenv("COLUMNS", columns, 1);
  std::size_t widest = 0;
  for (const std::string& line : str_split(full_help(command), '\n')) widest = std::max(widest, line.size());
  ::unsetenv("COLUMNS");
  return widest;
}

TEST(Help, TextIsAsWideAsColumnsSay) {
  Command program("argosy", "a summary of some length that is to be wrapped where the terminal is narrow, as the rest");
  std::string a;
  std::string long_text;
  for (int i = 0; i < 40; ++i) long_text += "words and ";
  program.option("--an-option VALUE", a, long_text).about(long_text);
  EXPECT_LE(widest_line(program, "80"), 80U);
  EXPECT_GT(widest_line(program, "80"), 70U);
  EXPECT_LE(widest_line(program, "20"), 60U);  // no narrower
  EXPECT_GT(widest_line(program, "20"), 50U);
  for (const char* columns : {"500", "", "none", "-3"}) {
    EXPECT_LE(widest_line(program, columns), 110U) << columns;
    EXPECT_GT(widest_line(program, columns), 100U) << columns;
  }
}

TEST(Help, OptionsStandInGroupsInTheOrderOfTheirTitles) {
  Command program("argosy", "test");
  bool a = false, b = false, c = false;
  program.group("First").option("--a", a, "one").group("Second").option("--bb", b, "two");
  program.group("First").option("--c", c, "three");
  EXPECT_THAT(full_help(program), HasSubstr("\nFirst\n"
                                            "  --a            one\n"
                                            "  --c            three\n"
                                            "\nSecond\n"
                                            "  --bb           two\n"
                                            "\nOutput\n"));
}

struct Bad {
  const char *words, *message, *where, *next;
};
const Bad kBad[] = {
    {"trian mlp", "unknown command \"trian\"", "argosy", "argosy train mlp"},
    {"zzzzzzzz", "there are train, ckpt, run, version", "argosy", "argosy --help"},
    {"ckpt lss a", "unknown command \"lss\"", "argosy ckpt", "argosy ckpt ls a"},
    {"train mlp --stpes 3", "unknown flag --stpes", "argosy train", "argosy train mlp --steps 3"},
    {"train mlp --stpes=3", "unknown flag --stpes", "argosy train", "argosy train mlp --steps=3"},
    {"train mlp ---", "unknown flag ---", "argosy train", "argosy train --help"},
    {"train mlp lenet", "unexpected argument \"lenet\"", "argosy train", "argosy train mlp"},
    {"help trian", "unknown command \"trian\"", "argosy", "argosy train --help"},
    {"help ckpt lss", "unknown command \"lss\"", "argosy ckpt", "argosy ckpt ls --help"},
    {"trian --help", "unknown command \"trian\"", "argosy", "argosy train --help"},
    {"train mlpp", "\"mlpp\" is none of mlp, lenet", "argosy train", "argosy train mlp"},
    {"train", "MODEL is missing: which model", "argosy train", "argosy train mlp"},
    {"train mlp --steps", "--steps wants a value, N: number of steps", "argosy train", "--steps 200"},
    {"train mlp --steps x", "\"x\" is not a whole number from 1 to 1000000000", "argosy train", "--steps 200"},
    {"train mlp --steps 0", "\"0\" is not a whole number from 1", "argosy train", "--steps 200"},
    {"train mlp --steps 1e3", "\"1e3\" is not a whole number", "argosy train", "--steps 200"},
    {"train mlp --steps 99999999999999999999", "is not a whole number", "argosy train", "--steps 200"},
    {"train mlp --steps --trace", "\"--trace\" is not a whole number", "argosy train", "--steps 200"},
    {"train mlp --rate nan", "\"nan\" is not a number of at least 0", "argosy train", "--rate 0.5"},
    {"train mlp -r -1", "\"-1\" is not a number of at least 0", "argosy train", "--rate 0.5"},
    {"train mlp --optimizer adma", "\"adma\" is none of sgd, adam", "argosy train", "--optimizer adam"},
    // The line to type has the model that was typed, where one was.
    {"train lenet --steps x", "\"x\" is not a whole number", "argosy train", "argosy train lenet --steps 200"},
    {"train --steps x lenet", "\"x\" is not a whole number", "argosy train", "argosy train lenet --steps 200"},
    {"train --seed 4 lenet --steps", "--steps wants a value", "argosy train", "argosy train lenet --steps 200"},
    {"train --color never --steps x", "\"x\" is not a whole number", "argosy train", "argosy train mlp --steps 200"},
    {"train mlp --seed=", "--seed", "argosy train", "--seed"},
    {"train mlp --color blue", "\"blue\" is none of auto, always, never", "argosy train", "--color auto"},
    {"version --json", "unknown flag --json", "argosy version", "argosy version --help"},
};

TEST_F(ParseTest, EveryMistakeSaysWhatWhereAndWhatToType) {
  for (const Bad& bad : kBad) {
    const Parsed parsed = parse_words(bad.words);
    ASSERT_FALSE(parsed.status.ok()) << bad.words;
    EXPECT_THAT(parsed.status.message(), HasSubstr(bad.message)) << bad.words;
    EXPECT_EQ(parsed.status.where(), bad.where) << bad.words;
    EXPECT_THAT(parsed.status.hint(), HasSubstr(bad.next)) << bad.words;
    EXPECT_EQ(exit_code(parsed.status), kUsage) << bad.words;
  }
}

// Anything at all may be typed: the parser ends, and either sets the options or says what, where and what to type.
TEST_F(ParseTest, RandomWordsEndInACommandOrAnError) {
  const std::vector<std::string> vocabulary = {
      "train",    "run",    "ckpt",      "ls",    "version", "mlp",   "lenet",  "--steps",       "--steps=3",
      "-r",       "-r1",    "--",        "-",     "---",     "--=",   "--with", "--json",        "--trace",
      "--seed",   "--help", "-h",        "",      "=",       "-5",    "1e400",  "\xff\xfe",      "--color",
      "never",    "[x]",    "{",         "@file", "-qh",     "-hq=1", "%s%n",   "--no-progress", "nan",
      "--steps=", "a=b",    "--trace=0", "-q",    "\n"};
  std::mt19937 random(20240501);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> words(random() % 7);
    for (std::string& word : words) {
      word = vocabulary[random() % vocabulary.size()];
      if (random() % 8 == 0) word += static_cast<char>(random() % 256);
    }
    const Parsed parsed = parse(program_, words);
    ASSERT_NE(parsed.command, nullptr) << str_join(words, " ");
    if (parsed.status.ok()) continue;
    ASSERT_FALSE(parsed.status.message().empty() || parsed.status.where().empty() || parsed.status.hint().empty())
        << str_join(words, " ") << ": " << parsed.status.to_string();
  }
}

TEST_F(ParseTest, JsonIsKnownEvenWhenTheWordsAreWrong) {
  EXPECT_TRUE(parse_words("train mlp --json --steps").console.json);
  EXPECT_TRUE(parse_words("train mlp --json --stpes 3").console.json);
}

TEST_F(ParseTest, HelpShowsExamplesFirstAndEveryDefault) {
  const std::string help = full_help(*parse_words("train").command);
  EXPECT_LT(help.find("Examples"), help.find("Usage"));
  EXPECT_THAT(help, HasSubstr("argosy train MODEL [options]"));
  EXPECT_THAT(help, HasSubstr("--steps N         number of steps (default 200)"));
  EXPECT_THAT(help, HasSubstr("update rule: sgd, adam (default adam)"));
  EXPECT_THAT(short_help(program_), HasSubstr("ckpt     Checkpoints"));
}

}  // namespace
}  // namespace argosy::cli
