//! Numbers of several repetitions.

/// At least one number, in ascending order.
#[derive(Clone, Debug)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// Of these numbers, of which there must be one at least.
    pub fn new(mut numbers: Vec<f64>) -> Self {
        assert!(!numbers.is_empty(), "a sample of nothing says nothing");
        numbers.sort_by(f64::total_cmp);
        Self(numbers)
    }

    /// Each number of `a` over the one of `b` from the same repetition.
    pub fn ratios(a: &[f64], b: &[f64]) -> Self {
        assert_eq!(a.len(), b.len(), "every contender runs in every repetition");
        Self::new(a.iter().zip(b).map(|(a, b)| a / b).collect())
    }

    /// The number below which this percentage of the numbers lies.
    pub fn percentile(&self, percent: usize) -> f64 {
        let last = self.0.len() - 1;
        self.0[(last * percent).div_ceil(100)]
    }

    /// The one in the middle, or the mean of the two there.
    pub fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        if self.0.len() % 2 == 1 { self.0[middle] } else { f64::midpoint(self.0[middle - 1], self.0[middle]) }
    }

    /// A spread takes more than one number.
    pub fn has_spread(&self) -> bool {
        self.0.len() > 1
    }

    pub fn min(&self) -> f64 {
        self.0[0]
    }

    pub fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}

/// The median of some numbers.
pub fn median(numbers: &[f64]) -> f64 {
    Sample::new(numbers.to_vec()).median()
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts and bytes here stay below 2^52")]
pub fn float(count: usize) -> f64 {
    count as f64
}
