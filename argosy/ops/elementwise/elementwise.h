// Functions that work element by element, with NumPy's broadcasting. Names, defaults and corner cases are those of
// tf.math.
//
// Every binary function takes a number in place of one of its values: maximum(x, 0.0), 2 * x. The number gets the dtype
// of the other value. A number that this dtype cannot hold (2.5 beside integers, 300 beside uint8) is an error of the
// graph.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/ops/constant/constant.h"

namespace argosy {

// A value, or a number that becomes a constant of the other operand's dtype.
class Operand {
 public:
  // A value of a graph.
  Operand(Value value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  // A number: it gets the dtype of the other operand.
  template <typename T>
  requires std::is_arithmetic_v<T> Operand(T number)  // NOLINT(google-explicit-constructor)
      : number_(number) {}

  const Value& value() const { return value_; }          // invalid for a number
  const ExactNumber& number() const { return number_; }  // REQUIRES: is_number()
  bool is_number() const { return !value_.valid(); }     // no value of a graph

 private:
  Value value_;
  ExactNumber number_ = 0;
};

// --- one value -----------------------------------------------------------------------------------------------------

Value neg(Value x);          // -x
Value abs(Value x);          // |x|; of complex numbers, their length
Value sign(Value x);         // -1, 0 or 1; NaN stays
Value square(Value x);       // x * x
Value sqrt(Value x);         // NaN below 0
Value rsqrt(Value x);        // 1 / sqrt(x)
Value reciprocal(Value x);   // 1 / x
Value exp(Value x);          // e to the power of x
Value expm1(Value x);        // exp(x) - 1, exact near 0
Value log(Value x);          // natural; NaN below 0
Value log1p(Value x);        // log(1 + x), exact near 0
Value sin(Value x);          // of radians
Value cos(Value x);          // of radians
Value tan(Value x);          // of radians
Value asin(Value x);         // in radians
Value acos(Value x);         // in radians
Value atan(Value x);         // in radians
Value sinh(Value x);         // (exp(x) - exp(-x)) / 2
Value cosh(Value x);         // (exp(x) + exp(-x)) / 2
Value tanh(Value x);         // sinh(x) / cosh(x)
Value asinh(Value x);        // the inverse of sinh
Value acosh(Value x);        // the inverse of cosh; NaN below 1
Value atanh(Value x);        // the inverse of tanh
Value sigmoid(Value x);      // 1 / (1 + exp(-x))
Value softsign(Value x);     // x / (1 + |x|)
Value erf(Value x);          // the Gauss error function
Value erfc(Value x);         // 1 - erf(x)
Value lgamma(Value x);       // log |gamma(x)|
Value digamma(Value x);      // the derivative of lgamma
Value floor(Value x);        // the largest integer that is not above x
Value ceil(Value x);         // the smallest integer that is not below x
Value round(Value x);        // ties to even
Value is_nan(Value x);       // bools
Value is_inf(Value x);       // bools; of either sign
Value is_finite(Value x);    // bools; neither infinite nor NaN
Value logical_not(Value x);  // of bools
Value invert(Value x);       // every bit flipped

// --- two values ----------------------------------------------------------------------------------------------------

Value add(Operand x, Operand y);                 // x + y
Value subtract(Operand x, Operand y);            // x - y
Value multiply(Operand x, Operand y);            // x y
Value divide(Operand x, Operand y);              // floating: x / y; integers: towards zero
Value div_no_nan(Operand x, Operand y);          // 0 where y is 0
Value multiply_no_nan(Operand x, Operand y);     // 0 where y is 0, even beside infinity
Value floor_div(Operand x, Operand y);           // floor(x / y)
Value floor_mod(Operand x, Operand y);           // x - floor(x / y) * y: the divisor's sign
Value truncate_div(Operand x, Operand y);        // of integers: towards zero
Value truncate_mod(Operand x, Operand y);        // the dividend's sign
Value maximum(Operand x, Operand y);             // NaN where either is NaN
Value minimum(Operand x, Operand y);             // NaN where either is NaN
Value pow(Operand x, Operand y);                 // x to the power of y
Value squared_difference(Operand x, Operand y);  // (x - y)², of complex numbers times the conjugate
Value atan2(Operand y, Operand x);               // the angle of the point (x, y), in radians
Value xdivy(Operand x, Operand y);               // x / y, 0 where x is 0
Value xlogy(Operand x, Operand y);               // x * log(y), 0 where x is 0
Value xlog1py(Operand x, Operand y);             // x * log1p(y), 0 where x is 0
Value bitwise_and(Operand x, Operand y);         // of integers
Value bitwise_or(Operand x, Operand y);          // of integers
Value bitwise_xor(Operand x, Operand y);         // of integers
Value left_shift(Operand x, Operand y);          // of integers; y below the number of bits
Value right_shift(Operand x, Operand y);         // of integers; of signed ones the sign stays

Value equal(Operand x, Operand y);          // bools
Value not_equal(Operand x, Operand y);      // bools
Value less(Operand x, Operand y);           // bools
Value less_equal(Operand x, Operand y);     // bools
Value greater(Operand x, Operand y);        // bools
Value greater_equal(Operand x, Operand y);  // bools
Value logical_and(Value x, Value y);        // of bools
Value logical_or(Value x, Value y);         // of bools
Value logical_xor(Value x, Value y);        // of bools

// The sum of all values, which must have the same shape.
Value add_n(const std::vector<Value>& values);
// Returns x. A step fails with this message if an element of x is infinite or NaN.
Value check_numerics(Value x, std::string_view message);

inline Value operator-(Value x) { return neg(x); }                       // neg()
inline Value operator+(Operand x, Operand y) { return add(x, y); }       // add()
inline Value operator-(Operand x, Operand y) { return subtract(x, y); }  // subtract()
inline Value operator*(Operand x, Operand y) { return multiply(x, y); }  // multiply()
inline Value operator/(Operand x, Operand y) { return divide(x, y); }    // divide()

// --- for gradients of ops that broadcast
// -------------------------------------------------------------------------------

// Sums dx over the axes along which x was repeated to match y, to the shape of x; and dy likewise, to that of y. Known
// shapes are used when the graph is built, others when it runs. An invalid gradient stays invalid.
std::vector<Value> sum_to_operands(Value x, Value y, Value dx, Value dy);
// Sums `dx`, whose shape x broadcasts to, to the shape of x.
Value sum_to_shape_of(Value x, Value dx);

}  // namespace argosy
