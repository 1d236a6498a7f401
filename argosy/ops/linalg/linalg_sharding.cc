// Sharding rules of the family.
#include "argosy/op/definition/registry.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

void add_linalg_ops(OpRegistry& ops);

void define_linalg(OpRegistry& ops) {
  with_sharding(ops, add_linalg_ops,
                {{"BatchCholesky", "i.. m n -> i.. m n; whole m n"},
                 {"Cholesky", "i.. m n -> i.. m n; whole m n"},
                 {"BatchCholeskyGrad", "i.. m n, i.. m n -> i.. m n; whole m n; linear 1"},
                 {"CholeskyGrad", "i.. m n, i.. m n -> i.. m n; whole m n; linear 1"},
                 {"BatchMatrixInverse", "i.. m n -> i.. m n; whole m n"},
                 {"MatrixInverse", "i.. m n -> i.. m n; whole m n"},
                 {"BatchMatrixDeterminant", "i.. m n -> i..; whole m n"},
                 {"MatrixDeterminant", "i.. m n -> i..; whole m n"},
                 {"LogMatrixDeterminant", "i.. m n -> i.., i..; whole m n"},
                 {"MatrixSquareRoot", "i.. m n -> i.. m n; whole m n"},
                 {"MatrixLogarithm", "i.. m n -> i.. m n; whole m n"},
                 {"Lu", "i.. m n -> i.. m n, i.. m; whole m n"},
                 {"Qr", "i.. m n -> i.. 1 1, i.. 1 1; whole m n"},
                 {"BatchSvd", "i.. m n -> i.. 1, i.. 1 1, i.. 1 1; whole m n"},
                 {"Svd", "i.. m n -> i.. 1, i.. 1 1, i.. 1 1; whole m n"},
                 {"BatchSelfAdjointEigV2", "i.. m n -> i.. 1, i.. 1 1; whole m n"},
                 {"SelfAdjointEigV2", "i.. m n -> i.. 1, i.. 1 1; whole m n"},
                 {"SelfAdjointEig", "i.. m n -> i.. 1 1; whole m n"},
                 {"BatchSelfAdjointEig", "i.. m n -> i.. 1 1; whole m n"},
                 {"Eig", "i.. m n -> i.. 1, i.. 1 1; whole m n"},
                 {"BatchMatrixSolve", "i.. m n, i.. m k -> i.. m k; whole m n; linear 1"},
                 {"MatrixSolve", "i.. m n, i.. m k -> i.. m k; whole m n; linear 1"},
                 {"BatchMatrixTriangularSolve", "i.. m n, i.. m k -> i.. m k; whole m n; linear 1; broadcasts"},
                 {"MatrixTriangularSolve", "i.. m n, i.. m k -> i.. m k; whole m n; linear 1; broadcasts"},
                 {"BandedTriangularSolve", "i.. b m, i.. m k -> i.. m k; whole b m; linear 1; broadcasts"},
                 {"BatchMatrixSolveLs", "i.. m n, i.. m k, . -> i.. n k; whole m n; linear 1"},
                 {"MatrixSolveLs", "i.. m n, i.. m k, . -> i.. n k; whole m n; linear 1"},
                 {"TridiagonalSolve", "i.. 1 m, i.. m k -> i.. m k; whole m; linear 1"},
                 {"TridiagonalMatMul", "i.. 1 m, i.. 1 m, i.. 1 m, i.. m k -> i.. m k; whole m; linear 3"}});
}

}  // namespace argosy
