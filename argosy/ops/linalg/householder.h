// Householder's reflections, one column at a time: what the decompositions of this folder that Eigen would instantiate
// at great length (several times over, for each scalar type) are made of. Private to this folder, to be included by
// kernels alone.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <utility>

namespace argosy::linalg {

// Columns one after the other, as reflections want them; Matrix (matrices.h) has rows.
template <typename T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// H = I - tau w wᴴ with w[0] = 1, made from a vector x of one element or more such that Hᴴ x is a real multiple of the
// first axis. Golub and Van Loan, "Matrix Computations" (4th ed.), section 5.1.
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

  Real length() const { return length_; }  // of x, with a sign: Hᴴ x = length e₁
  // H x, or Hᴴ x, for the columns of x from `first` on; H acts on their last rows.
  void apply(Columns<T>& x, Eigen::Index first = 0) const { apply(tau_, x, first); }
  void apply_adjoint(Columns<T>& x, Eigen::Index first = 0) const { apply(Eigen::numext::conj(tau_), x, first); }
  // x H, on the last columns and the rows of x from `first` on.
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
