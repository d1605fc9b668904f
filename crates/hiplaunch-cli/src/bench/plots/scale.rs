//! Logarithmic scales: from values to pixels, with ticks.

/// A scale from values between `low` and `high`, which are greater than 0, to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: i32,
    to: i32,
}

impl Scale {
    /// Creates a scale with some space around the values; a single value gets a decade.
    pub(super) fn new(low: f64, high: f64, from: i32, to: i32) -> Scale {
        let (low, high) = (low.max(1e-12), high.max(1e-12));
        let room = ((high / low).ln() * 0.04).exp().max(1.05);
        let (low, high) = (low / room, high * room);
        let (low, high) = if high / low < 2.0 { (low / 1.5, high * 1.5) } else { (low, high) };
        Scale { low, high, from, to }
    }

    pub(super) fn pixel(&self, value: f64) -> i32 {
        let part = (value.max(1e-12) / self.low).ln() / (self.high / self.low).ln();
        self.from + (part.clamp(0.0, 1.0) * f64::from(self.to - self.from)).round() as i32
    }

    /// Returns the ticks with a label, and the ticks between them: powers of ten, with 2 and 5 times them if there are
    /// few.
    pub(super) fn ticks(&self) -> (Vec<f64>, Vec<f64>) {
        let decades = (self.high / self.low).log10();
        let (labelled, all): (&[f64], &[f64]) = match decades {
            d if d > 3.0 => (&[1.0], &[1.0]),
            d if d > 2.2 => (&[1.0], &[1.0, 2.0, 5.0]),
            d if d > 0.6 => (&[1.0, 2.0, 5.0], &[1.0, 2.0, 5.0]),
            _ => (&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]),
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let of = |steps: &[f64]| -> Vec<f64> {
            let ticks = (first..=last).flat_map(|e| steps.iter().map(move |step| step * 10f64.powi(e)));
            ticks.filter(|tick| (self.low..=self.high).contains(tick)).collect()
        };
        (of(labelled), of(all))
    }
}

/// Returns a number as `0.05`, `2`, `1,000`, `20k` or `1M`.
pub(super) fn number(value: f64) -> String {
    if value >= 999_500.0 {
        format!("{}M", number(value / 1e6))
    } else if value >= 9_999.5 {
        format!("{}k", number(value / 1e3))
    } else if value >= 1000.0 {
        crate::output::grouped(value.round() as u64)
    } else {
        // Two significant digits, or one decimal.
        let digits = (-value.log10().floor()).max(0.0) as usize;
        let text = format!("{value:.*}", digits + 1);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_as_far_apart() {
        let scale = Scale::new(1.0, 100.0, 0, 1000);
        let [a, b, c] = [1.0, 10.0, 100.0].map(|v| scale.pixel(v));
        assert!(a > 0 && c < 1000 && ((b - a) - (c - b)).abs() <= 1, "{a} {b} {c}");
        // Pixels decrease with the values if `from` is greater than `to`.
        let up = Scale::new(1.0, 100.0, 300, 0);
        assert!(up.pixel(1.0) > up.pixel(100.0));
    }

    #[test]
    fn ticks_are_neither_none_nor_many() {
        for (low, high) in [(1.0, 1.0), (3.0, 4.0), (0.9, 9.0), (2.0, 80.0), (0.5, 3000.0), (1e-3, 1e6)] {
            let (labelled, all) = Scale::new(low, high, 0, 300).ticks();
            assert!((2..=11).contains(&labelled.len()), "{low} {high}: {labelled:?}");
            assert!(all.len() >= labelled.len() && all.len() < 24);
        }
        assert_eq!(
            [0.05, 0.5, 1.5, 2.0, 10.0, 500.0, 1e3, 2e4, 1e6].map(number),
            ["0.05", "0.5", "1.5", "2", "10", "500", "1,000", "20k", "1M"]
        );
    }
}
