// The functions of this folder for one number, in double precision. Private to it.
#pragma once

namespace argosy::special {

double erf_inverse(double x);
double normal_quantile(double p);

double bessel_i0(double x);
double bessel_i0e(double x);
double bessel_i1(double x);
double bessel_i1e(double x);
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_k0(double x);
double bessel_k0e(double x);
double bessel_k1(double x);
double bessel_k1e(double x);
double bessel_y0(double x);
double bessel_y1(double x);

double dawson(double x);
double exponential_integral(double x);
double fresnel_cos(double x);
double fresnel_sin(double x);
double spence(double x);

double gamma_lower(double a, double x);           // regularized
double gamma_upper(double a, double x);           // 1 - gamma_lower, without cancellation
double gamma_lower_slope(double a, double x);     // the derivative of gamma_lower by a
double gamma_sample_slope(double a, double x);    // the derivative of x by a at constant gamma_lower(a, x)
double beta_lower(double a, double b, double x);  // regularized

}  // namespace argosy::special
