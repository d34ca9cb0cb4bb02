//! A UTF-8 validator for a stream that arrives in blocks of any size.

/// Validates UTF-8 block by block.
#[derive(Debug, Default)]
pub(super) struct Utf8 {
    /// The first bytes of an incomplete character, at most 3.
    pending: Vec<u8>,
    is_broken: bool,
}

impl Utf8 {
    pub(super) fn feed(&mut self, block: &[u8]) {
        let mut rest = block;
        while !self.pending.is_empty() && !rest.is_empty() && !self.is_broken {
            self.pending.push(rest[0]);
            rest = &rest[1..];
            match std::str::from_utf8(&self.pending) {
                Ok(_) => self.pending.clear(),
                Err(error) => self.is_broken |= error.error_len().is_some(),
            }
        }
        if self.is_broken {
            return;
        }
        if let Err(error) = simdutf8::compat::from_utf8(rest) {
            self.is_broken = error.error_len().is_some();
            self.pending = rest[error.valid_up_to()..].to_vec();
            self.pending.truncate(3);
        }
    }

    /// Whether the whole stream was valid.
    pub(super) fn is_valid(&self) -> bool {
        !self.is_broken && self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_or_not() {
        let cases: [(&[u8], bool); 6] = [
            (b"", true),
            ("plain é 漢 🚀 end".as_bytes(), true),
            (b"latin \xe9 one", false),
            (b"cut \xf0\x9f\x9a", false),
            (b"\xed\xa0\x80", false),
            (b"\xc3\xa9\xa9", false),
        ];
        for (bytes, want) in cases {
            for step in 1..=bytes.len().max(1) {
                let mut utf8 = Utf8::default();
                bytes.chunks(step).for_each(|block| utf8.feed(block));
                assert_eq!(utf8.is_valid(), want, "{bytes:?} {step}");
            }
        }
    }
}
