//! Medians, their spread, and their confidence intervals.

use serde::Serialize;

/// The summary of many samples, in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    pub(super) median: f64,
    /// The median absolute deviation from the median.
    pub(super) mad: f64,
    /// The 10th and the 90th percentile.
    pub(super) p10: f64,
    pub(super) p90: f64,
    /// The interval in which the median of the distribution lies with 95 % confidence, for any distribution. It is
    /// wider if the median of a fifth of the run is outside.
    #[serde(rename = "median_low")]
    pub(super) low: f64,
    #[serde(rename = "median_high")]
    pub(super) high: f64,
    pub(super) samples: usize,
}

/// Rounds to a hundredth, which is finer than any figure here is known.
pub(super) fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// The number of parts of a run whose medians widen the interval, and the samples that a part needs for a median.
const PARTS: usize = 5;
const PART_SAMPLES: usize = 5;

/// Summarizes samples in the order in which they were measured; `None` if there are none.
pub(super) fn summary(samples: &[f64]) -> Option<Summary> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = quantile(&sorted, 0.5)?;
    let mut deviations: Vec<f64> = sorted.iter().map(|sample| (sample - median).abs()).collect();
    deviations.sort_by(f64::total_cmp);
    let (mut low, mut high) = median_interval(&sorted)?;
    // Samples are not independent: some influences last for a while, such as the core on which a thread runs.
    for part in samples.chunks(samples.len().div_ceil(PARTS)).filter(|part| part.len() >= PART_SAMPLES) {
        let mut part = part.to_vec();
        part.sort_by(f64::total_cmp);
        let median = quantile(&part, 0.5)?;
        (low, high) = (low.min(median), high.max(median));
    }
    Some(Summary {
        median: rounded(median),
        mad: rounded(quantile(&deviations, 0.5)?),
        p10: rounded(quantile(&sorted, 0.1)?),
        p90: rounded(quantile(&sorted, 0.9)?),
        low: rounded(low),
        high: rounded(high),
        samples: sorted.len(),
    })
}

/// Returns a quantile of sorted samples, interpolated between two of them.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let at = q * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted.get(at.floor() as usize)?, sorted.get(at.ceil() as usize)?);
    Some(below + (above - below) * at.fract())
}

/// Returns the order statistics between which the median lies with 95 % confidence. The number of samples below the
/// median has a binomial distribution, which is close to a normal one with mean n/2 and deviation sqrt(n)/2. With too
/// few samples, the interval is from the least to the greatest.
fn median_interval(sorted: &[f64]) -> Option<(f64, f64)> {
    let n = sorted.len() as f64;
    let below = (n / 2.0 - 0.98 * n.sqrt()).floor().max(0.0) as usize;
    Some((*sorted.get(below)?, *sorted.get(sorted.len().checked_sub(1 + below)?)?))
}

/// Returns the ratios of samples of the same round.
pub(super) fn ratios(numerators: &[f64], denominators: &[f64]) -> Vec<f64> {
    numerators.iter().zip(denominators).filter(|(_, d)| **d > 0.0).map(|(n, d)| n / d).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_samples() {
        let samples: Vec<f64> = (1..=11).rev().map(f64::from).collect();
        let s = summary(&samples).unwrap();
        assert_eq!((s.median, s.mad, s.p10, s.p90, s.samples), (6.0, 3.0, 2.0, 10.0, 11));
        // n = 11: the 3rd and the 9th, between which 93.5 % of intervals hold the median (95.1 % by the approximation).
        assert_eq!((s.low, s.high), (3.0, 9.0));
        assert_eq!(summary(&[]), None);
        let one = summary(&[2.5]).unwrap();
        assert_eq!((one.median, one.mad, one.low, one.high), (2.5, 0.0, 2.5, 2.5));
        let two = summary(&[1.0, 2.0]).unwrap();
        assert_eq!((two.median, two.low, two.high), (1.5, 1.0, 2.0));
    }

    #[test]
    fn luck_that_lasts_makes_the_median_unsure() {
        // Forty samples of a run with a fifth of the time in another mode.
        let lasting: Vec<f64> = (0..40).map(|i| if i < 8 { 3.0 } else { 1.0 }).collect();
        let mixed: Vec<f64> = (0..40).map(|i| if i % 5 == 0 { 3.0 } else { 1.0 }).collect();
        let [lasting, mixed] = [lasting, mixed].map(|samples| summary(&samples).unwrap());
        assert_eq!((lasting.median, lasting.low, lasting.high), (1.0, 1.0, 3.0));
        assert_eq!((mixed.median, mixed.low, mixed.high), (1.0, 1.0, 1.0));
    }

    #[test]
    fn ratios_are_of_pairs() {
        assert_eq!(ratios(&[2.0, 9.0, 1.0], &[1.0, 3.0]), [2.0, 3.0]);
        assert_eq!(ratios(&[2.0, 9.0], &[0.0, 3.0]), [3.0]);
    }
}
