// ShardingPlaces: a node's tensors, and the factors of their dimensions according to a sharding text. The first half of
// instantiate(). Internal to argosy/op/definition.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/definition/sharding_syntax.h"

namespace argosy {

// A tensor of the node, and the operand of the text that describes it.
struct Place {
  const TextOperand* text = nullptr;
  const PartialShape* shape = nullptr;  // null: not known
  int arg = 0;
  bool input = true;
  bool open = false;                                // an output that is a handle: the inputs determine its dimensions
  std::vector<std::vector<std::string>> dims = {};  // factors by name
};

// Borrows the text and the context.
class ShardingPlaces {
 public:
  ShardingPlaces(const ShardingText& text, const ShapeContext& c) : text_(text), c_(c) {}

  // Finds the factors of every dimension, and their sizes. Returns "", or the reason why the text does not cover the
  // node. An error means a bug in the text.
  Result<std::string> find();

  const std::vector<Place>& all() const { return places_; }  // inputs first
  const std::vector<DType>& out_dtypes() const { return out_dtypes_; }
  std::int64_t size_of(const std::string& factor) const { return sizes_.at(factor).size; }  // -1: not known
  int first_output(int arg) const { return first_output_[static_cast<std::size_t>(arg)]; }
  std::vector<int> inputs_of(const std::vector<int>& args) const;  // the tensors of input arguments
  std::string name(const Place& p) const;                          // "input 0 (x)"

 private:
  struct Sizes {
    std::int64_t size = -1;
    int inputs = 0;        // number of inputs with a dimension that is this factor alone
    bool unknown = false;  // one of them has a size that is not known
  };

  Result<std::vector<int>> counts(const std::vector<ArgDef>& args) const;
  const PartialShape* shape_of_input(int i) const;
  Status place_all();
  std::string count_rests();
  std::string count_rests_of(const Place& p, bool& changed);
  void name_dims(Place& p);
  std::string permute();
  std::string find_sizes();
  bool is_free(const Sizes& s, std::int64_t size) const;
  bool has_sizes() const;
  std::string divide(const Place& p, std::size_t d);

  const ShardingText& text_;
  const ShapeContext& c_;
  std::vector<Place> places_;
  std::vector<int> first_input_, first_output_;  // tensors of each argument, and how many there are
  std::vector<DType> out_dtypes_;
  std::map<std::string, int> rests_;  // dimensions that a letter stands for
  std::map<std::string, Sizes> sizes_;
};

}  // namespace argosy
