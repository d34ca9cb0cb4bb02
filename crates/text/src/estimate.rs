//! Counts the tokens of a text that may be too large to hold in memory.

use std::io;

use spillgate_artifact::{ByteSource, Tokens};

use crate::TokenCounter;
use crate::bpe::MAX_TOKEN_BYTES;

/// Maximum size of a text of which every byte is counted. This takes 3 to 5 ms for ordinary
/// text and 0.1 s in the worst case. Of larger texts, 64 samples of 1 KiB are counted
/// (docs/spec/limits.md, "Tokens"), because the caller waits for the preview and an approximate
/// count is sufficient.
pub const EXACT_BYTES: u64 = 512 << 10;

/// Number of samples.
const SAMPLES: u64 = 64;
/// Bytes of a sample.
const SAMPLE_BYTES: u64 = 1024;

/// Returns the tokens of a source: an exact count up to [`EXACT_BYTES`], an extrapolated count for
/// larger sources.
pub fn count_source(counter: &dyn TokenCounter, source: &dyn ByteSource) -> io::Result<Tokens> {
    let len = source.len();
    if len <= EXACT_BYTES {
        let mut buffer = Vec::new();
        let text = String::from_utf8_lossy(source.window(0, len, &mut buffer)?);
        return Ok(Tokens::exact(counter.count(&text)));
    }
    let mut samples = Vec::new();
    for sample in 0..SAMPLES {
        let start = (len - SAMPLE_BYTES) / (SAMPLES - 1) * sample;
        samples.push(source.bytes(start, start + SAMPLE_BYTES)?);
    }
    let bytes: u64 = samples.iter().map(|sample| sample.len() as u64).sum();
    let texts: Vec<_> = samples
        .iter()
        .map(|sample| String::from_utf8_lossy(sample))
        .collect();
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    let tokens = counter.count_all(&texts);
    let scaled = u128::from(tokens) * u128::from(len) / u128::from(bytes.max(1));
    Ok(Tokens::estimated(u64::try_from(scaled).unwrap_or(u64::MAX)))
}

/// Returns whether a source has more than `limit` tokens. The answer is always exact. Reads at most
/// as many bytes as this number of tokens can have.
pub fn source_exceeds(
    counter: &dyn TokenCounter,
    source: &dyn ByteSource,
    limit: u64,
) -> io::Result<bool> {
    let len = source.len();
    if len <= limit {
        return Ok(false);
    }
    if len > limit.saturating_mul(MAX_TOKEN_BYTES) {
        return Ok(true);
    }
    let mut buffer = Vec::new();
    let text = String::from_utf8_lossy(source.window(0, len, &mut buffer)?);
    Ok(counter.exceeds(&text, limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokenizer;

    #[test]
    fn large_sources_are_sampled_and_say_so() {
        let line = "2026-11-21T10:00:01Z INFO worker-17 processed batch id=40123 ok\n";
        let counter = Tokenizer::O200kBase.counter();
        let text = line.repeat(usize::try_from(EXACT_BYTES).unwrap() / line.len() + 1000);
        let exact = counter.count(&text);
        let estimate = count_source(&*counter, &text.into_bytes()).unwrap();
        assert!(!estimate.exact);
        let error = (estimate.count as f64 / exact as f64 - 1.0).abs();
        assert!(
            error < 0.05,
            "{} against {exact}: {error:.3}",
            estimate.count
        );
    }

    #[test]
    fn small_sources_are_exact() {
        let counter = Tokenizer::O200kBase.counter();
        let source = b"hello world".to_vec();
        assert_eq!(count_source(&*counter, &source).unwrap(), Tokens::exact(2));
        assert!(!source_exceeds(&*counter, &source, 2).unwrap());
        assert!(source_exceeds(&*counter, &source, 1).unwrap());
    }
}
