//! How long the answer for a target is: from a catalogue, from the URL, or drawn by its hash.

use policy::{Dice, TargetId};
use std::collections::HashMap;
use std::sync::Arc;

/// Where sizes come from, in this order: the catalogue; `/bytes/12345` in the path or `size=12345`
/// in the query; else a lognormal draw that depends on the target alone.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Sizes by [`crate::content::target`], shared by the origins of a cluster.
    pub catalogue: Arc<HashMap<TargetId, u64>>,
    /// The lognormal's mu and sigma, of bytes.
    pub lognormal: (f64, f64),
    /// What the URL may ask for at most; more is refused.
    pub bytes_max: u64,
}

impl Default for Sizes {
    /// Without a catalogue; the body of HTML sizes that WWW10 2001 and ClubWeb (2003) used, mean
    /// 3.4 KB; at most 1 GiB.
    fn default() -> Self {
        Self { catalogue: Arc::default(), lognormal: (7.630, 1.001), bytes_max: 1 << 30 }
    }
}

impl Sizes {
    /// The length of the answer; `None` when the URL asks for more than is allowed.
    pub fn of(&self, target: TargetId, path: &str, query: Option<&str>) -> Option<u64> {
        if let Some(bytes) = self.catalogue.get(&target) {
            return Some(*bytes);
        }
        match asked(path, query) {
            Some(bytes) => (bytes <= self.bytes_max).then_some(bytes),
            None => Some(self.draw(target)),
        }
    }

    fn draw(&self, target: TargetId) -> u64 {
        // Twelve uniform draws less their mean are as good as normal up to three sigma (Irwin,
        // Hall), and need no function whose last bit differs between machines but one.
        let mut dice = Dice::new(target.mixed(0x512e));
        let normal = (0..12).map(|_| dice.unit()).sum::<f64>() - 6.0;
        let (mu, sigma) = self.lognormal;
        ((mu + sigma * normal).exp() as u64).min(self.bytes_max)
    }
}

/// The size that a URL asks for. One too large for a number is the largest number.
fn asked(path: &str, query: Option<&str>) -> Option<u64> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let in_path = || {
        let (_, rest) = path.split_once("/bytes/")?;
        number(rest.split('/').next().unwrap_or(rest))
    };
    let in_query =
        || query?.split('&').find_map(|field| field.strip_prefix("size=")).and_then(number);
    in_path().or_else(in_query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_comes_before_the_url_and_the_url_before_the_draw() {
        let sizes =
            Sizes { catalogue: Arc::new(HashMap::from([(TargetId(1), 77)])), ..Sizes::default() };
        assert_eq!(sizes.of(TargetId(1), "/bytes/5/a", None), Some(77));
        assert_eq!(sizes.of(TargetId(2), "/bytes/5/a", None), Some(5));
        assert_eq!(sizes.of(TargetId(2), "/cpu/bytes/5", None), Some(5));
        assert_eq!(sizes.of(TargetId(2), "/a", Some("b=1&size=9")), Some(9));
        let drawn = sizes.of(TargetId(2), "/bytes/x", Some("size=-1"));
        assert_eq!(drawn, sizes.of(TargetId(2), "/another", None), "the target alone decides");
    }

    #[test]
    fn a_url_may_not_ask_for_more_than_is_allowed() {
        let sizes = Sizes { bytes_max: 100, ..Sizes::default() };
        assert_eq!(sizes.of(TargetId(1), "/bytes/100", None), Some(100));
        assert_eq!(sizes.of(TargetId(1), "/bytes/101", None), None);
        assert_eq!(sizes.of(TargetId(1), "/bytes/99999999999999999999999", None), None);
        assert!(sizes.of(TargetId(1), "/", None).is_some_and(|bytes| bytes <= 100));
    }

    #[test]
    fn drawn_sizes_have_the_mean_and_median_of_the_lognormal() {
        let sizes = Sizes::default();
        let mut drawn: Vec<u64> = (0..100_000).map(|id| sizes.draw(TargetId(id))).collect();
        drawn.sort_unstable();
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        assert!((drawn[drawn.len() / 2] as f64 / 2_059.0 - 1.0).abs() < 0.02);
        assert!((mean / 3_398.0 - 1.0).abs() < 0.03, "{mean}");
    }
}
