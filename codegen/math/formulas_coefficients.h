// Minimax polynomials and split constants for formulas.h, a set for each scalar type.
// Written by make_formulas.py (Remez exchange); do not edit.
#pragma once

#include <array>

namespace heddle::cpu {

// The numbers that differ between float and double.
template <class Scalar>
struct Coefficients;

template <>
struct Coefficients<float> {
  static constexpr float ln2_hi = 0.693145752F;
  static constexpr float ln2_lo = 1.42860677e-06F;
  static constexpr float ln2 = 0.693147181F;
  static constexpr float log2_e = 1.44269502F;
  static constexpr float log2_e_lo = 1.92596303e-08F;
  static constexpr float twice_log2_e = 2.88539008F;
  static constexpr float half_ln2 = 0.34657359F;
  static constexpr float two_over_pi = 0.636619772F;
  static constexpr float half_pi_1 = 1.57079637F;
  static constexpr float half_pi_2 = -4.37113883e-08F;
  static constexpr float half_pi_3 = -1.71512451e-15F;
  static constexpr float quarter_pi_hi = 0.785398245F;
  static constexpr float quarter_pi_lo = -8.14603425e-08F;
  static constexpr float cbrt_half = 0.793700526F;
  static constexpr float cbrt_quarter = 0.629960525F;
  // (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2: error 2^-33.1.
  static constexpr std::array<float, 6> exp{
      0.5F, 0.166666672F, 0.0416664593F, 0.00833319686F, 0.00139354379F, 0.000199542221F,
  };
  // (log(1+f) - f + f^2/2) / f^3 for 1+f in [sqrt(1/2), sqrt(2)]: error 2^-30.4.
  static constexpr std::array<float, 9> log{
      0.333333105F,  -0.249999866F, 0.200022236F,  -0.16669248F,  0.142187148F,
      -0.123844415F, 0.118726783F,  -0.117891066F, 0.0691511557F,
  };
  // (a coth(a) - 1) / a^2 in a^2 for |a| <= 0.26: error 2^-25.3.
  static constexpr std::array<float, 2> a_coth{
      0.333329201F,
      -0.0220243223F,
  };
  // ((e^2r - 1) / 2 - r) / r^2 for |r| <= ln(2)/4: error 2^-26.1.
  static constexpr std::array<float, 5> half_expm1{
      1.0F, 0.666661739F, 0.333331496F, 0.13386488F, 0.0446002409F,
  };
  // (sinh(x) - x) / x^3 in x^2 for |x| <= 1: error 2^-31.5.
  static constexpr std::array<float, 4> sinh{
      0.166666672F,
      0.00833331142F,
      0.000198426351F,
      2.78392577e-06F,
  };
  // (sin(r) - r) / r^3 in r^2 for |r| <= pi/4: error 2^-27.9.
  static constexpr std::array<float, 3> sin{
      -0.166666538F,
      0.00833210163F,
      -0.000195068584F,
  };
  // (cos(r) - 1 + r^2/2) / r^4 in r^2 for |r| <= pi/4: error 2^-33.1.
  static constexpr std::array<float, 3> cos{
      0.0416666456F,
      -0.00138873013F,
      2.44306702e-05F,
  };
  // (atan(q) - q) / q^3 in q^2 for |q| <= tan(pi/8): error 2^-30.5.
  static constexpr std::array<float, 5> atan{
      -0.333333164F, 0.199985325F, -0.142445102F, 0.10600166F, -0.0609271191F,
  };
  // erf(x)/x - 1 in x^2 for |x| <= 1: error 2^-29.6.
  static constexpr std::array<float, 7> erf{
      0.128379166F,   -0.376126289F,    0.112836182F,    -0.026855126F,
      0.00519073382F, -0.000803076138F, 7.92036808e-05F,
  };
  // erfc(2.46 + t) for 2.46 + t in [1, 3.92]: error 2^-30.9.
  static constexpr std::array<float, 16> erfc{
      0.0005033536F,    -0.00265630311F,  0.00653451635F,   -0.00983129162F,
      0.0099142082F,    -0.00680543249F,  0.00293709082F,   -0.000446198654F,
      -0.000355780096F, 0.000284577662F,  -7.59147879e-05F, -1.54820918e-05F,
      1.73635472e-05F,  -2.97630891e-06F, -1.09888526e-06F, 3.60085494e-07F,
  };
  // m^(-1/3) for m in [1, 2]: error 2^-12.1.
  static constexpr std::array<float, 4> cbrt{
      1.54446578F,
      -0.815433681F,
      0.321512461F,
      -0.0507718734F,
  };
};

template <>
struct Coefficients<double> {
  static constexpr double ln2_hi = 0.6931471805601177;
  static constexpr double ln2_lo = -1.7239444525614835e-13;
  static constexpr double ln2 = 0.6931471805599453;
  static constexpr double log2_e = 1.4426950408889634;
  static constexpr double log2_e_lo = 2.0355273740931033e-17;
  static constexpr double twice_log2_e = 2.8853900817779268;
  static constexpr double two_over_pi = 0.6366197723675814;
  static constexpr double half_pi_1 = 1.5707963267948966;
  static constexpr double half_pi_2 = 6.123233995736766e-17;
  static constexpr double half_pi_3 = -1.4973849048591698e-33;
  static constexpr double two_thirds_hi = 0.6666666666666666;
  static constexpr double two_thirds_lo = 3.700743415417188e-17;
  static constexpr double quarter_pi_hi = 0.7853981633974483;
  static constexpr double quarter_pi_lo = 3.061616997868383e-17;
  static constexpr double cbrt_half = 0.7937005259840998;
  static constexpr double cbrt_quarter = 0.6299605249474366;
  // (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2: error 2^-63.8.
  static constexpr std::array<double, 11> exp{
      0.5,
      0.16666666666666685,
      0.04166666666666667,
      0.008333333333315863,
      0.0013888888888882163,
      0.00019841269899000663,
      2.480158733012401e-05,
      2.7557232469025847e-06,
      2.755726868486336e-07,
      2.511280888102393e-08,
      2.091648985847287e-09,
  };
  // (2 atanh(s) - 2s) / s^3 in s^2, for s = f/(2+f): error 2^-58.5.
  static constexpr std::array<double, 7> log{
      0.6666666666666734,  0.3999999999941656,  0.28571428742061283, 0.2222219860051473,
      0.18183563134995273, 0.15314076545621266, 0.1479572554913518,
  };
  // (2 atanh(s) - 2s - 2s^3/3) / s^5 in s^2: error 2^-72.5.
  static constexpr std::array<double, 8> log_tail{
      0.3999999999999998,  0.2857142857144384, 0.22222222217789608, 0.18181818844028183,
      0.15384558424869302, 0.1333626468401161, 0.11675776171458249, 0.11981796965637537,
  };
  // (r coth(r/2) - 2) / r^2 in r^2 for |r| <= 0.5005 ln(2): error 2^-60.0.
  static constexpr std::array<double, 5> half_coth{
      0.16666666666666602,     -0.002777777777701242, 6.613756320398533e-05,
      -1.6533900944513305e-06, 4.138086072867741e-08,
  };
  // (tanh(x) - x) / x^3 in x^2 for |x| <= 1: error 2^-58.9.
  static constexpr std::array<double, 16> tanh{
      -0.333333333333333,     0.1333333333332916,     -0.05396825396651052,
      0.021869488499106127,   -0.008863235058511991,  0.0035921241018872286,
      -0.0014558115725690534, 0.0005899320158034818,  -0.0002388338399258664,
      9.622820134315866e-05,  -3.806339408532496e-05, 1.4278575004302987e-05,
      -4.756629815496178e-06, 1.2704958898214735e-06, -2.327366652344663e-07,
      2.126485564680501e-08,
  };
  // (sinh(x) - x) / x^3 in x^2 for |x| <= 1: error 2^-62.9.
  static constexpr std::array<double, 8> sinh{
      0.16666666666666666,    0.00833333333333357,    0.00019841269841066548, 2.755731930708548e-06,
      2.5052090215808855e-08, 1.6061227877586492e-10, 7.510981937600386e-13,  6.263613629356485e-15,
  };
  // (sin(r) - r) / r^3 in r^2 for |r| <= pi/4: error 2^-57.8.
  static constexpr std::array<double, 6> sin{
      -0.16666666666666627,  0.008333333333321079,    -0.00019841269828700805,
      2.755731329608955e-06, -2.5050694506161193e-08, 1.5893024275514674e-10,
  };
  // (cos(r) - 1 + r^2/2) / r^4 in r^2 for |r| <= pi/4: error 2^-63.9.
  static constexpr std::array<double, 6> cos{
      0.04166666666666659,    -0.0013888888888872056, 2.4801587288144557e-05,
      -2.755731395416364e-07, 2.087566773883491e-09,  -1.1356707489294699e-11,
  };
  // (atan(q) - q) / q^3 in q^2 for |q| <= tan(pi/8): error 2^-59.5.
  static constexpr std::array<double, 11> atan{
      -0.333333333333332,   0.19999999999953813,  -0.14285714280219736,  0.11111110784627719,
      -0.09090897791196581, 0.07692060802766007,  -0.06663110594748269,  0.058479356473749536,
      -0.05039506867155649, 0.038069515924753494, -0.017912430833726973,
  };
  // erf(x)/x - 1 in x^2 for |x| <= 1: error 2^-56.0.
  static constexpr std::array<double, 13> erf{
      0.1283791670955126,      -0.3761263890318411,     0.11283791670972064,
      -0.0268661706482809,     0.005223977655682777,    -0.000854832873510897,
      0.0001205539432163773,   -1.4927094581952675e-05, 1.6484724789622331e-06,
      -1.6598270966615432e-07, 1.6303299876228287e-08,  -1.7631032924030885e-09,
      1.6383146322713797e-10,
  };
  // log(erfc(1 + t)) for t <= 5: error 2^-59.0.
  static constexpr std::array<double, 19> erfc_log{
      -1.8496055099332482,    -2.638967514234794,      -0.8431072563583902,
      -0.041561098047539415,  0.010033825434346697,    -0.0019779029448340575,
      0.00023732402889689916, 2.6273502654365024e-05,  -2.7150304195945427e-05,
      9.595950268286847e-06,  -2.0456694373770908e-06, 1.3141536608150214e-07,
      1.0449996266727373e-07, -5.516473179496209e-08,  1.593665218259326e-08,
      -3.101606463060791e-09, 4.0503537251577836e-10,  -3.222453369703058e-11,
      1.1818137390867195e-12,
  };
  // m^(-1/3) for m in [1, 2]: error 2^-17.6.
  static constexpr std::array<double, 6> cbrt{
      1.7830443114105505,  -1.5730555685217795, 1.2535766357606912,
      -0.6045923272792239, 0.15834392135427391, -0.017322140025844427,
  };
  // log2(1+f) / f for 1+f in [sqrt(1/2), sqrt(2)]: error 2^-35.3.
  static constexpr std::array<double, 13> log2_for_single{
      1.4426950408667947,  -0.7213475207475276,  0.48089836249927687, -0.36067369918844766,
      0.28853720254498305, -0.24045174686018295, 0.20617749357938792, -0.18033540639107762,
      0.15876414477473008, -0.14277325406333566, 0.14446428719892984, -0.1444028976937822,
      0.07951879484831331,
  };
  // (2^r - 1) / r for |r| <= 1/2: error 2^-29.0.
  static constexpr std::array<double, 6> exp2_for_single{
      0.6931472066110735,   0.24022651191854597,   0.0555032734206024,
      0.009618021440406714, 0.0013400395563906195, 0.00015471629173150495,
  };
};

}  // namespace heddle::cpu
