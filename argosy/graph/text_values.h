// The lexer of the text form, which tracks lines and columns; and reading and printing of attribute values.
// Internal to argosy/graph/text*.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "argosy/op/definition/op_def.h"

namespace argosy::text {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Blanks and comments are skipped before every token; line ends too while `across_lines`.
  void set_across_lines(bool across) { across_lines_ = across; }
  bool take(std::string_view token);
  bool next_is(char c);
  bool at_line_end();  // true also at the end of the text
  bool at_end();
  void skip_lines();
  // Node, op, attribute and function names: letters, digits and _ . / - >, or anything in quotes.
  Result<std::string> name(std::string_view what);
  Result<std::string> quoted();
  Result<std::int64_t> integer(std::string_view what);
  // The characters up to a blank or one of ",]}{)(#": numbers, true, float, inf.
  std::string_view word();
  // The characters up to the next blank, for devices.
  std::string_view until_blank();

  Status error(std::string_view message) const;  // "line 3, column 7: …"
  // The position of the next token.
  std::size_t position() {
    skip();
    return at_;
  }
  Status error_at(std::size_t position, std::string_view message) const;

 private:
  void skip();
  std::string_view text_;
  std::size_t at_ = 0;
  bool across_lines_ = false;
};

// A name as the text form writes it: in quotes when a scanner would not read it as one word.
std::string name_text(std::string_view name);
std::string quote(std::string_view bytes);

// The value as text, with at most `max_values` elements of a tensor.
std::string value_text(const AttrValue& value, int max_values);
// Reads a value. `def`, if not null, determines the kind: of [] or 3, for instance.
Result<AttrValue> read_value(Scanner& in, const AttrDef* def);

}  // namespace argosy::text
