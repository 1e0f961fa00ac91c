//! The gamma function and the integrals that are made of it.

/// Convergence of the series and fractions below.
const EPSILON: f64 = 1e-16;
/// More terms than any argument in use needs: a fraction takes about the square root of its parameter.
const MAX_TERMS: u32 = 100_000;
/// Stands for zero where a continued fraction would divide by it.
const TINY: f64 = 1e-300;

/// `ln Γ(a + 1/2) - ln Γ(a)` for positive `a`, without the cancellation of two large logarithms.
pub(crate) fn ln_half_step(a: f64) -> f64 {
    if a < 64.0 {
        return ln_gamma(a + 0.5) - ln_gamma(a);
    }
    let cube = a.powi(3);
    0.5 * a.ln() - 1.0 / (8.0 * a) + 1.0 / (192.0 * cube) - 1.0 / (640.0 * cube * a * a)
}

/// The complementary error function.
pub(crate) fn erfc(x: f64) -> f64 {
    let square = x * x;
    if square < 1.5 {
        return 1.0 - erf_series(x);
    }
    let tail = erfc_fraction(square) * (-square).exp() * x.abs() / PI_ROOT;
    if x > 0.0 { tail } else { 2.0 - tail }
}

/// The continued fraction of the incomplete beta function, for `x` below `(a + 1) / (a + b + 2)`.
pub(crate) fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut fraction = Lentz::start(1.0, 1.0 - (a + b) * x / (a + 1.0));
    let mut step = 1.0;
    for _ in 0..MAX_TERMS {
        let even = step * (b - step) * x / ((a + 2.0 * step - 1.0) * (a + 2.0 * step));
        fraction.next(even, 1.0);
        let odd = -(a + step) * (a + b + step) * x / ((a + 2.0 * step) * (a + 2.0 * step + 1.0));
        if (fraction.next(odd, 1.0) - 1.0).abs() < EPSILON {
            break;
        }
        step += 1.0;
    }
    fraction.value
}

const PI_ROOT: f64 = 1.772_453_850_905_516;

/// Lanczos' approximation, for arguments from 1/2.
fn ln_gamma(x: f64) -> f64 {
    const SHIFT: f64 = 7.0;
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    let mut place = 1.0;
    for term in TERMS {
        sum += term / (x + place);
        place += 1.0;
    }
    let base = x + SHIFT + 0.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * base.ln() - base + sum.ln()
}

fn erf_series(x: f64) -> f64 {
    let square = x * x;
    let (mut term, mut sum, mut step) = (x, x, 0.0);
    for _ in 0..MAX_TERMS {
        step += 1.0;
        term *= square / (step + 0.5);
        sum += term;
        if term.abs() < EPSILON * sum.abs() {
            break;
        }
    }
    2.0 / PI_ROOT * sum * (-square).exp()
}

/// `Γ(1/2, square) · e^square / √square`.
fn erfc_fraction(square: f64) -> f64 {
    let mut b = square + 0.5;
    let mut fraction = Lentz::start(f64::INFINITY, b);
    let mut step = 0.0;
    for _ in 0..MAX_TERMS {
        step += 1.0;
        b += 2.0;
        if (fraction.next(-step * (step - 0.5), b) - 1.0).abs() < EPSILON {
            break;
        }
    }
    fraction.value
}

/// The modified method of Lentz: `1 / (b0 + a1 / (b1 + a2 / (b2 + …)))`.
struct Lentz {
    value: f64,
    c: f64,
    d: f64,
}

impl Lentz {
    /// `c` is what the level above the first is divided by: 1 in a fraction of ones, infinity where there is none.
    fn start(c: f64, b: f64) -> Self {
        let d = 1.0 / nonzero(b);
        Self { value: d, c, d }
    }

    /// Takes one more level, and answers by what factor the value changed.
    fn next(&mut self, a: f64, b: f64) -> f64 {
        self.d = 1.0 / nonzero(b + a * self.d);
        self.c = nonzero(b + a / self.c);
        let change = self.c * self.d;
        self.value *= change;
        change
    }
}

fn nonzero(x: f64) -> f64 {
    if x.abs() < TINY { TINY } else { x }
}
