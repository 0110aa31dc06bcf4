//! Logarithm, exponential and what is made of them, with the same bits on every machine.
//!
//! The standard library's come from the platform and differ in their last bits, so that a
//! synthetic trace would differ, too. These use only what IEEE 754 rounds in one way: the four
//! operations and the square root. Errors are a few units of the last place.

/// The natural logarithm of a positive, finite number.
///
/// The number is split into a power of two and a factor near 1, whose logarithm is the series of
/// the inverse hyperbolic tangent.
pub(crate) fn ln(x: f64) -> f64 {
    debug_assert!(x > 0.0 && x.is_finite(), "a logarithm of {x}");
    let (x, scaled) = if x < f64::MIN_POSITIVE { (x * TWO_54, -54) } else { (x, 0) };
    let bits = x.to_bits();
    let mut power = (bits >> 52) as i32 - 1023 + scaled;
    let mut factor = f64::from_bits(bits & FRACTION | ONE);
    if factor > std::f64::consts::SQRT_2 {
        factor *= 0.5;
        power += 1;
    }
    let ratio = (factor - 1.0) / (factor + 1.0);
    let square = ratio * ratio;
    // At most 0.1716 squared to the tenth: beyond double precision.
    let mut sum = 0.0;
    for odd in [21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        sum = (sum + 1.0 / odd) * square;
    }
    let power = f64::from(power);
    power * LN_2_HIGH + (2.0 * ratio * (1.0 + sum) + power * LN_2_LOW)
}

/// e to the power of `x`; 0 far below, infinite far above.
pub(crate) fn exp(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    if x > 709.0 {
        return f64::INFINITY;
    }
    let power = (x * std::f64::consts::LOG2_E).round();
    let rest = (x - power * LN_2_HIGH) - power * LN_2_LOW;
    // Taylor's series by Horner: at most 0.3466 to the 14th over 14 factorial is left out.
    let mut sum = 1.0;
    for step in (1..=13).rev() {
        sum = 1.0 + sum * rest / f64::from(step);
    }
    // -1010 <= power <= 1023, so this is a normal number.
    sum * f64::from_bits(((power as i64 + 1023) as u64) << 52)
}

/// `base` to the power of `exponent`; `base` is positive.
pub(crate) fn pow(base: f64, exponent: f64) -> f64 {
    exp(exponent * ln(base))
}

/// The normal distribution function, to about 1e-12.
///
/// The series of Marsaglia, *Evaluating the Normal Distribution*, Journal of Statistical Software
/// 2004.
pub(crate) fn normal_below(x: f64) -> f64 {
    if x < -7.0 {
        return 0.0;
    }
    if x > 7.0 {
        return 1.0;
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while sum + term != sum {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * exp(-0.5 * x * x) / SQRT_TAU
}

/// The gamma function of a number above 0.
///
/// Lanczos's approximation, with g = 5 and the six coefficients of *Numerical Recipes*: an error
/// below 2e-10.
pub(crate) fn gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let mut sum = 1.000_000_000_190_015;
    for (at, term) in TERMS.iter().enumerate() {
        sum += term / (x + 1.0 + at as f64);
    }
    let base = x + 5.5;
    SQRT_TAU * sum / x * exp((x + 0.5) * ln(base) - base)
}

const TWO_54: f64 = (1_u64 << 54) as f64;
const FRACTION: u64 = (1 << 52) - 1;
const ONE: u64 = 1023 << 52;
const SQRT_TAU: f64 = 2.506_628_274_631_000_5;
/// The logarithm of 2 in two parts, the first short enough for exact products with exponents.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) -> bool {
        (found - expected).abs() <= relative * expected.abs().max(1e-300)
    }

    #[test]
    fn they_agree_with_the_platform_to_its_last_digits() {
        let mut x = 1e-300;
        while x < 1e300 {
            assert!(close(ln(x), x.ln(), 1e-15), "ln {x}: {} {}", ln(x), x.ln());
            x *= 1.37;
        }
        let mut x = -690.0;
        while x < 700.0 {
            assert!(close(exp(x), x.exp(), 4e-16 * (1.0 + f64::abs(x))), "exp {x}");
            x += 0.171;
        }
        assert!(close(pow(1.5, -0.7), 1.5_f64.powf(-0.7), 1e-15));
        assert_eq!((ln(1.0), exp(0.0)), (0.0, 1.0));
        assert_eq!((exp(-800.0), exp(710.0)), (0.0, f64::INFINITY));
    }

    #[test]
    fn their_bits_are_these_on_every_machine() {
        let found = [ln(10.0), ln(0.3), exp(1.0), exp(-3.3), pow(7.0, 0.77), gamma(1.4)];
        let expected = BITS.map(f64::from_bits);
        assert_eq!(found, expected, "{:#x?}", found.map(f64::to_bits));
    }

    /// What one machine found; another has to find the same.
    const BITS: [u64; 6] = [
        0x4002_6bb1_bbb5_5516,
        0xbff3_4378_fcbd_a721,
        0x4005_bf0a_8b14_576a,
        0x3fa2_e259_bb85_be84,
        0x4011_e5af_f464_8604,
        0x3fec_6477_16e3_318e,
    ];

    #[test]
    fn tables_know_the_same_values() {
        assert!((normal_below(0.0) - 0.5).abs() < 1e-15);
        assert!((normal_below(1.96) - 0.975_002_104_851_780).abs() < 1e-12);
        assert!((normal_below(-3.0) - 0.001_349_898_031_630_09).abs() < 1e-12);
        assert!(close(gamma(5.0), 24.0, 1e-9));
        assert!(close(gamma(0.5), std::f64::consts::PI.sqrt(), 1e-9));
        assert!(close(gamma(1.0 + 1.0 / 1.705), 0.892_066, 1e-4), "{}", gamma(1.0 + 1.0 / 1.705));
    }
}
