// The list of elementwise kernels on a GPU: one row X(Function, Type) each. The .cu files make a kernel from each row;
// elementwise_cuda.cc registers them. int32 values are in host memory, where CPU kernels compute them. Only predicates,
// whose results are on the GPU, have int32 rows.
#pragma once

// clang-format breaks such a list elsewhere at every pass.
// clang-format off
#define ARGOSY_CUDA_FLOATS(X, F) X(F, f32) X(F, f64) X(F, f16) X(F, bf16)
#define ARGOSY_CUDA_SIGNED(X, F) X(F, i8) X(F, i16) X(F, i64)
#define ARGOSY_CUDA_UNSIGNED(X, F) X(F, u8) X(F, u16) X(F, u32) X(F, u64)
#define ARGOSY_CUDA_REAL(X, F) ARGOSY_CUDA_FLOATS(X, F) ARGOSY_CUDA_SIGNED(X, F) ARGOSY_CUDA_UNSIGNED(X, F)
#define ARGOSY_CUDA_INTEGERS(X, F) ARGOSY_CUDA_SIGNED(X, F) ARGOSY_CUDA_UNSIGNED(X, F)

// y = F(x), of x's type.
#define ARGOSY_CUDA_UNARY_SIMPLE(X)                                                                            \
  ARGOSY_CUDA_FLOATS(X, Neg)                                                                                   \
  ARGOSY_CUDA_SIGNED(X, Neg) ARGOSY_CUDA_FLOATS(X, Abs) ARGOSY_CUDA_SIGNED(X, Abs) ARGOSY_CUDA_FLOATS(X, Sign) \
      ARGOSY_CUDA_SIGNED(X, Sign) ARGOSY_CUDA_FLOATS(X, Square) ARGOSY_CUDA_SIGNED(X, Square)                  \
          ARGOSY_CUDA_UNSIGNED(X, Square) ARGOSY_CUDA_SIGNED(X, Relu) ARGOSY_CUDA_SIGNED(X, Relu6)             \
          ARGOSY_CUDA_FLOATS(X, Reciprocal) ARGOSY_CUDA_FLOATS(X, Sqrt) ARGOSY_CUDA_FLOATS(X, Rsqrt)           \
              ARGOSY_CUDA_FLOATS(X, Floor) ARGOSY_CUDA_FLOATS(X, Ceil) ARGOSY_CUDA_FLOATS(X, Rint)             \
                  ARGOSY_CUDA_FLOATS(X, Softsign) ARGOSY_CUDA_FLOATS(X, Relu) ARGOSY_CUDA_FLOATS(X, Relu6)     \
                      ARGOSY_CUDA_INTEGERS(X, Invert)
#define ARGOSY_CUDA_UNARY_FUNCTIONS(X)                                                                              \
  ARGOSY_CUDA_FLOATS(X, Exp)                                                                                        \
  ARGOSY_CUDA_FLOATS(X, Expm1) ARGOSY_CUDA_FLOATS(X, Log) ARGOSY_CUDA_FLOATS(X, Log1p) ARGOSY_CUDA_FLOATS(X, Sin)   \
      ARGOSY_CUDA_FLOATS(X, Cos) ARGOSY_CUDA_FLOATS(X, Tan) ARGOSY_CUDA_FLOATS(X, Asin) ARGOSY_CUDA_FLOATS(X, Acos) \
          ARGOSY_CUDA_FLOATS(X, Atan) ARGOSY_CUDA_FLOATS(X, Sinh) ARGOSY_CUDA_FLOATS(X, Cosh)                       \
              ARGOSY_CUDA_FLOATS(X, Tanh) ARGOSY_CUDA_FLOATS(X, Asinh) ARGOSY_CUDA_FLOATS(X, Acosh)                 \
                  ARGOSY_CUDA_FLOATS(X, Atanh) ARGOSY_CUDA_FLOATS(X, Sigmoid) ARGOSY_CUDA_FLOATS(X, Erf)            \
                      ARGOSY_CUDA_FLOATS(X, Erfc) ARGOSY_CUDA_FLOATS(X, Elu) ARGOSY_CUDA_FLOATS(X, Selu)            \
                          ARGOSY_CUDA_FLOATS(X, Softplus) ARGOSY_CUDA_FLOATS(X, Lgamma) ARGOSY_CUDA_FLOATS(X, Digamma)
#define ARGOSY_CUDA_UNARY(X) ARGOSY_CUDA_UNARY_SIMPLE(X) ARGOSY_CUDA_UNARY_FUNCTIONS(X)

// y = F(x), bool.
#define ARGOSY_CUDA_UNARY_PREDICATES(X) \
  ARGOSY_CUDA_FLOATS(X, IsNan) ARGOSY_CUDA_FLOATS(X, IsInf) ARGOSY_CUDA_FLOATS(X, IsFinite) X(LogicalNot, bool)

// z = F(x, y), of their type.
#define ARGOSY_CUDA_BINARY_ARITHMETIC(X)                                                                             \
  ARGOSY_CUDA_REAL(X, Add)                                                                                           \
  ARGOSY_CUDA_REAL(X, Sub) ARGOSY_CUDA_REAL(X, Mul) ARGOSY_CUDA_REAL(X, Maximum) ARGOSY_CUDA_REAL(X, Minimum)        \
      ARGOSY_CUDA_FLOATS(X, SquaredDifference) X(SquaredDifference, i64)                                             \
          ARGOSY_CUDA_INTEGERS(X, BitwiseAnd) ARGOSY_CUDA_INTEGERS(X, BitwiseOr) ARGOSY_CUDA_INTEGERS(X, BitwiseXor) \
              ARGOSY_CUDA_INTEGERS(X, LeftShift) ARGOSY_CUDA_INTEGERS(X, RightShift)
// Integer quotients and powers are not checked first, as on the CPU: cases that the CPU refuses give 0 here.
#define ARGOSY_CUDA_BINARY_FUNCTIONS(X)                                                                              \
  ARGOSY_CUDA_REAL(X, Div)                                                                                           \
  ARGOSY_CUDA_REAL(X, TruncateDiv) ARGOSY_CUDA_REAL(X, FloorDiv) ARGOSY_CUDA_FLOATS(X, TruncateMod) X(TruncateMod, i64) \
      ARGOSY_CUDA_REAL(X, FloorMod) ARGOSY_CUDA_FLOATS(X, DivNoNan) ARGOSY_CUDA_FLOATS(X, MulNoNan)                  \
          ARGOSY_CUDA_FLOATS(X, Pow) ARGOSY_CUDA_SIGNED(X, Pow) ARGOSY_CUDA_FLOATS(X, Atan2)                         \
          ARGOSY_CUDA_FLOATS(X, Xdivy)                                                                               \
              ARGOSY_CUDA_FLOATS(X, Xlogy) ARGOSY_CUDA_FLOATS(X, Xlog1py) X(NextAfter, f32) X(NextAfter, f64)        \
                  ARGOSY_CUDA_FLOATS(X, TanhGrad) ARGOSY_CUDA_FLOATS(X, SigmoidGrad) ARGOSY_CUDA_FLOATS(X, SqrtGrad) \
                      ARGOSY_CUDA_FLOATS(X, RsqrtGrad) ARGOSY_CUDA_FLOATS(X, ReciprocalGrad)                         \
                          ARGOSY_CUDA_FLOATS(X, SoftsignGrad) ARGOSY_CUDA_FLOATS(X, ReluGrad)                        \
                              ARGOSY_CUDA_FLOATS(X, Relu6Grad) ARGOSY_CUDA_FLOATS(X, EluGrad)                        \
                                  ARGOSY_CUDA_FLOATS(X, SeluGrad) ARGOSY_CUDA_FLOATS(X, SoftplusGrad)
#define ARGOSY_CUDA_BINARY(X) ARGOSY_CUDA_BINARY_ARITHMETIC(X) ARGOSY_CUDA_BINARY_FUNCTIONS(X)

// z = F(x, y), bool.
#define ARGOSY_CUDA_BINARY_PREDICATES(X)                                                                                   \
  ARGOSY_CUDA_REAL(X, Equal)                                                                                      \
  X(Equal, bool) X(Equal, i32) ARGOSY_CUDA_REAL(X, NotEqual) X(NotEqual, bool) X(NotEqual, i32)                   \
      ARGOSY_CUDA_REAL(X, Less) ARGOSY_CUDA_REAL(X, LessEqual) ARGOSY_CUDA_REAL(X, Greater)                       \
          ARGOSY_CUDA_REAL(X, GreaterEqual) X(LogicalAnd, bool) X(LogicalOr, bool) X(Less, i32) X(LessEqual, i32) \
              X(Greater, i32) X(GreaterEqual, i32)

// Complex numbers: kernels of functions_complex_cuda.h.
#define ARGOSY_CUDA_COMPLEX(X, F) X(F, c64) X(F, c128)
#define ARGOSY_CUDA_COMPLEX_UNARY(X) \
  ARGOSY_CUDA_COMPLEX(X, Neg) ARGOSY_CUDA_COMPLEX(X, Square) ARGOSY_CUDA_COMPLEX(X, Reciprocal)                    \
  ARGOSY_CUDA_COMPLEX(X, Exp) ARGOSY_CUDA_COMPLEX(X, Sinh) ARGOSY_CUDA_COMPLEX(X, Cosh) ARGOSY_CUDA_COMPLEX(X, Sin) \
  ARGOSY_CUDA_COMPLEX(X, Cos) ARGOSY_CUDA_COMPLEX(X, Tan) ARGOSY_CUDA_COMPLEX(X, Sign)
#define ARGOSY_CUDA_COMPLEX_BINARY(X)                                                                              \
  ARGOSY_CUDA_COMPLEX(X, Add) ARGOSY_CUDA_COMPLEX(X, Sub) ARGOSY_CUDA_COMPLEX(X, Mul) ARGOSY_CUDA_COMPLEX(X, Div) \
  ARGOSY_CUDA_COMPLEX(X, DivNoNan) ARGOSY_CUDA_COMPLEX(X, MulNoNan) ARGOSY_CUDA_COMPLEX(X, SquaredDifference)     \
  ARGOSY_CUDA_COMPLEX(X, ReciprocalGrad) ARGOSY_CUDA_COMPLEX(X, Xdivy)
#define ARGOSY_CUDA_COMPLEX_PREDICATES(X) ARGOSY_CUDA_COMPLEX(X, Equal) ARGOSY_CUDA_COMPLEX(X, NotEqual)
// clang-format on
