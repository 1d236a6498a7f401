#include "argosy/base/utf8.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

TEST(Utf8, LeavesTextsAsTheyAre) {
  for (const std::string text : {"", "plain", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\x7f\n"}) {
    EXPECT_EQ(escape_non_utf8(text), text);
  }
}

TEST(Utf8, EscapesWhatIsOfNoCharacter) {
  EXPECT_EQ(escape_non_utf8("\xfd\x8c\xff"), "\\xfd\\x8c\\xff");
  EXPECT_EQ(escape_non_utf8("a\xe2\x82"), "a\\xe2\\x82") << "cut off";
  EXPECT_EQ(escape_non_utf8("\xc0\xaf!"), "\\xc0\\xaf!") << "overlong";
  EXPECT_EQ(escape_non_utf8("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(escape_non_utf8("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "too large";
  EXPECT_EQ(escape_non_utf8("\xff\xc3\xa9\xff"), "\\xff\xc3\xa9\\xff");
}

TEST(Utf8, CutsBetweenCharacters) {
  const std::string euros = "\xe2\x82\xac\xe2\x82\xac";
  EXPECT_EQ(utf8_prefix(euros, 6), euros);
  EXPECT_EQ(utf8_prefix(euros, 5), "\xe2\x82\xac");
  EXPECT_EQ(utf8_prefix(euros, 2), "");
}

}  // namespace
}  // namespace argosy
