// Householder reflections, one column at a time. The SVD and the least-squares kernel are built on them: Eigen's own
// decompositions would be instantiated several times for each scalar type, and compile slowly. Private to the kernels
// of this folder.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <utility>

namespace argosy::linalg {

// A column-major matrix, which suits reflections; Matrix (matrices.h) is row-major.
template <typename T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// The reflection H = I - tau w wᴴ, with w[0] = 1, of a vector x of at least one element. It is chosen so that Hᴴ x is a
// real multiple of the first unit vector e₁. Golub and Van Loan, "Matrix Computations" (4th ed.), section 5.1.
template <typename T>
class Householder {
 public:
  using Real = typename Eigen::NumTraits<T>::Real;

  explicit Householder(Column<T> x) : w_(std::move(x)) {
    const T first = w_[0];
    const Real rest = w_.tail(w_.size() - 1).squaredNorm();
    w_[0] = T(1);
    const Real squares = Eigen::numext::abs2(first) + rest;
    if ((rest == 0 && Eigen::numext::imag(first) == 0) || squares < std::numeric_limits<Real>::min()) {
      length_ = Eigen::numext::real(first);
      return;
    }
    length_ = -std::copysign(std::sqrt(squares), Eigen::numext::real(first));
    tau_ = (T(length_) - first) / T(length_);
    w_.tail(w_.size() - 1) /= first - T(length_);
  }

  Real length() const { return length_; }  // the norm of x with a sign: Hᴴ x = length e₁
  // Replaces the columns of x from `first` on by H x, or Hᴴ x. H acts on their last rows.
  void apply(Columns<T>& x, Eigen::Index first = 0) const { apply(tau_, x, first); }
  void apply_adjoint(Columns<T>& x, Eigen::Index first = 0) const { apply(Eigen::numext::conj(tau_), x, first); }
  // Replaces the last columns of x by x H, in the rows from `first` on.
  void apply_right(Columns<T>& x, Eigen::Index first) const {
    if (tau_ == T(0)) return;
    const Eigen::Index rows = x.rows() - first, column = x.cols() - w_.size();
    Column<T> products = Column<T>::Zero(rows);
    for (Eigen::Index j = 0; j < w_.size(); ++j) products += w_[j] * x.col(column + j).tail(rows);
    for (Eigen::Index j = 0; j < w_.size(); ++j) {
      x.col(column + j).tail(rows) -= (tau_ * Eigen::numext::conj(w_[j])) * products;
    }
  }

 private:
  void apply(T tau, Columns<T>& x, Eigen::Index first) const {
    if (tau_ == T(0)) return;
    for (Eigen::Index j = first; j < x.cols(); ++j) {
      const T product = tau * w_.dot(x.col(j).tail(w_.size()));
      x.col(j).tail(w_.size()) -= product * w_;
    }
  }

  Column<T> w_;
  T tau_{0};
  Real length_ = 0;
};

}  // namespace argosy::linalg
