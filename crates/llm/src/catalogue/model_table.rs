//! Lists public facts about well-known models.
//!
//! Context windows and prices are taken from the public documentation and price lists of the
//! providers as of May 2026. Prices are in dollars per million tokens, for the lowest tier and
//! normal speed; long prompts, batches and priority processing have other prices. Prices change:
//! `[models."provider/model"]` in the configuration overrides this table. A model that is not
//! listed has no price, and its limits are deliberately small.

use crate::{ModelLimits, Prices};

/// The limits that are assumed for an unknown model. Nearly every model supports them.
pub(super) const UNKNOWN: ModelLimits = ModelLimits {
    window: 8192,
    max_output: 2048,
};

/// Models of one maker.
struct Maker {
    /// Providers that sell these models at these prices. For other providers, only the limits
    /// apply.
    sold_by: &'static [&'static str],
    /// Price of writing to the cache, as a multiple of the input price.
    cache_write: f64,
    models: &'static [Row],
}

/// Name, window, longest reply, and prices of input, cached input and output. A name also matches
/// its dated versions; a name that ends in `*` matches all names that begin like it. The first row
/// that matches is used.
type Row = (&'static str, u64, u64, Option<(f64, f64, f64)>);

#[rustfmt::skip]
const MAKERS: [Maker; 8] = [
    Maker { sold_by: &["openai", "openrouter"], cache_write: 1.0, models: &[
        ("gpt-5.4",         400_000, 128_000, Some((2.50, 0.25, 15.00))),
        ("gpt-5.4-mini",    400_000, 128_000, Some((0.75, 0.075, 4.50))),
        ("gpt-5.2",         400_000, 128_000, Some((1.75, 0.175, 14.00))),
        ("gpt-5.1",         400_000, 128_000, Some((1.25, 0.125, 10.00))),
        ("gpt-5",           400_000, 128_000, Some((1.25, 0.125, 10.00))),
        ("gpt-5-mini",      400_000, 128_000, Some((0.25, 0.025, 2.00))),
        ("gpt-5-nano",      400_000, 128_000, Some((0.05, 0.005, 0.40))),
        ("gpt-5-chat",      128_000,  16_384, Some((1.25, 0.125, 10.00))),
        ("gpt-5*",          400_000, 128_000, None),
        ("gpt-4.1",       1_047_576,  32_768, Some((2.00, 0.50, 8.00))),
        ("gpt-4.1-mini",  1_047_576,  32_768, Some((0.40, 0.10, 1.60))),
        ("gpt-4.1-nano",  1_047_576,  32_768, Some((0.10, 0.025, 0.40))),
        ("gpt-4o-2024-05-13", 128_000, 4_096, Some((5.00, 5.00, 15.00))),
        ("gpt-4o",          128_000,  16_384, Some((2.50, 1.25, 10.00))),
        ("gpt-4o-mini",     128_000,  16_384, Some((0.15, 0.075, 0.60))),
        ("gpt-4-turbo",     128_000,   4_096, Some((10.00, 10.00, 30.00))),
        ("gpt-3.5-turbo",    16_385,   4_096, Some((0.50, 0.50, 1.50))),
        ("o1",              200_000, 100_000, Some((15.00, 7.50, 60.00))),
        ("o3",              200_000, 100_000, Some((2.00, 0.50, 8.00))),
        ("o3-mini",         200_000, 100_000, Some((1.10, 0.55, 4.40))),
        ("o3-pro",          200_000, 100_000, Some((20.00, 20.00, 80.00))),
        ("o4-mini",         200_000, 100_000, Some((1.10, 0.275, 4.40))),
        ("gpt-oss*",        131_072,  32_768, None),
    ] },
    Maker { sold_by: &["anthropic", "openrouter"], cache_write: 1.25, models: &[
        ("claude-opus-4-7",   200_000, 64_000, Some((5.00, 0.50, 25.00))),
        ("claude-opus-4-6",   200_000, 64_000, Some((5.00, 0.50, 25.00))),
        ("claude-opus-4-5",   200_000, 64_000, Some((5.00, 0.50, 25.00))),
        ("claude-opus-4-1",   200_000, 32_000, Some((15.00, 1.50, 75.00))),
        ("claude-opus-4",     200_000, 32_000, Some((15.00, 1.50, 75.00))),
        ("claude-sonnet-4-6", 200_000, 64_000, Some((3.00, 0.30, 15.00))),
        ("claude-sonnet-4-5", 200_000, 64_000, Some((3.00, 0.30, 15.00))),
        ("claude-sonnet-4",   200_000, 64_000, Some((3.00, 0.30, 15.00))),
        ("claude-haiku-4-5",  200_000, 64_000, Some((1.00, 0.10, 5.00))),
        ("claude-3-7-sonnet", 200_000, 64_000, Some((3.00, 0.30, 15.00))),
        ("claude-3-5-sonnet", 200_000,  8_192, Some((3.00, 0.30, 15.00))),
        ("claude-3-5-haiku",  200_000,  8_192, Some((0.80, 0.08, 4.00))),
        ("claude-3-opus",     200_000,  4_096, Some((15.00, 1.50, 75.00))),
        ("claude-3-haiku",    200_000,  4_096, Some((0.25, 0.03, 1.25))),
        ("claude-*",          200_000,  4_096, None),
    ] },
    // Gemini 2.5 Pro costs more for prompts over 200,000 tokens.
    Maker { sold_by: &["gemini", "openrouter"], cache_write: 1.0, models: &[
        ("gemini-2.5-pro",        1_048_576, 65_536, Some((1.25, 0.125, 10.00))),
        ("gemini-2.5-flash",      1_048_576, 65_536, Some((0.30, 0.03, 2.50))),
        ("gemini-2.5-flash-lite", 1_048_576, 65_536, Some((0.10, 0.01, 0.40))),
        ("gemini-2.0-flash",      1_048_576,  8_192, Some((0.10, 0.025, 0.40))),
        ("gemini-2.0-flash-lite", 1_048_576,  8_192, Some((0.075, 0.075, 0.30))),
        ("gemini-*",              1_048_576,  8_192, None),
        ("gemma-3*",                131_072,  8_192, None),
    ] },
    Maker { sold_by: &["deepseek"], cache_write: 1.0, models: &[
        ("deepseek-chat",     128_000,  8_192, Some((0.28, 0.028, 0.42))),
        ("deepseek-reasoner", 128_000, 32_768, Some((0.28, 0.028, 0.42))),
        ("deepseek-*",         64_000,  8_192, None),
    ] },
    Maker { sold_by: &["mistral"], cache_write: 1.0, models: &[
        ("mistral-large",  128_000, 8_192, Some((2.00, 2.00, 6.00))),
        ("mistral-medium", 128_000, 8_192, Some((0.40, 0.40, 2.00))),
        ("mistral-small",  128_000, 8_192, Some((0.10, 0.10, 0.30))),
        ("codestral",      256_000, 8_192, Some((0.30, 0.30, 0.90))),
        ("mistral-nemo*",  128_000, 8_192, None),
        ("mistral-7b*",     32_768, 8_192, None),
        ("mixtral-8x7b*",   32_768, 8_192, None),
        ("mixtral-8x22b*",  65_536, 8_192, None),
    ] },
    Maker { sold_by: &["groq"], cache_write: 1.0, models: &[
        ("llama-3.3-70b-versatile", 131_072, 32_768, Some((0.59, 0.59, 0.79))),
        ("llama-3.1-8b-instant",    131_072, 32_768, Some((0.05, 0.05, 0.08))),
    ] },
    Maker { sold_by: &[], cache_write: 1.0, models: &[
        ("llama-3.1*", 131_072, 8_192, None),
        ("llama-3.2*", 131_072, 8_192, None),
        ("llama-3.3*", 131_072, 8_192, None),
        ("llama-3*",     8_192, 2_048, None),
        ("llama-4*",   131_072, 8_192, None),
    ] },
    Maker { sold_by: &[], cache_write: 1.0, models: &[
        ("qwen2.5*", 32_768, 8_192, None),
        ("qwen-2.5*", 32_768, 8_192, None),
        ("qwen3*",   32_768, 8_192, None),
    ] },
];

/// Returns what is known about a provider's model. Do not call this function for a model on the
/// user's own server: only its owner knows the window that the server was started with.
pub(super) fn known(provider: &str, model: &str) -> Option<(ModelLimits, Option<Prices>)> {
    let model = plain(model);
    // Variants such as `name:free` have different prices.
    let (name, variant) = model.split_once(':').unwrap_or((&model, ""));
    let rows = MAKERS
        .iter()
        .flat_map(|maker| maker.models.iter().map(move |row| (maker, row)));
    let mut fitting = rows.filter(|(_, row)| fits(&plain(row.0), name));
    let (maker, &(_, window, max_output, prices)) = fitting.next()?;
    let is_sold = variant.is_empty() && maker.sold_by.contains(&provider);
    let prices = prices.filter(|_| is_sold);
    let prices = prices.map(|(input, cached, output)| Prices {
        input,
        output,
        cached_input: Some(cached),
        cache_write: Some(input * maker.cache_write),
    });
    Some((ModelLimits { window, max_output }, prices))
}

/// Returns a name without its path (`anthropic/…`, `models/…`) and with version numbers in one
/// spelling, because some sellers write 4.5 and others 4-5.
fn plain(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    last.to_lowercase().replace('.', "-")
}

/// Returns whether the name of a row matches the name of a model: the names are equal, or the
/// model's name continues with a date. A short number is not a date: the row `claude-opus-4` does
/// not match `claude-opus-4-9`.
fn fits(row: &str, name: &str) -> bool {
    if let Some(start) = row.strip_suffix('*') {
        return name.starts_with(start);
    }
    let Some(rest) = name.strip_prefix(row) else {
        return false;
    };
    let Some(version) = rest.strip_prefix('-') else {
        return rest.is_empty();
    };
    let digits = version.bytes().take_while(u8::is_ascii_digit).count();
    let is_date = digits >= 3
        && version
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
    is_date || version == "latest"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    /// Target, window and price of input; `-` means unknown.
    const KNOWN: &str = "
        openai/gpt-4o                                     128000   2.5
        openai/gpt-4o-2024-11-20                          128000   2.5
        openai/gpt-4o-2024-05-13                          128000   5
        openai/gpt-4o-mini                                128000   0.15
        openai/gpt-4.1                                    1047576  2
        openai/gpt-5-2025-08-07                           400000   1.25
        openai/gpt-5.9-thing                              400000   -
        openai/o3-mini                                    200000   1.1
        openai/davinci                                    -        -
        anthropic/claude-sonnet-4-5-20250929              200000   3
        anthropic/claude-opus-4-20250514                  200000   15
        anthropic/claude-opus-4-9                         200000   -
        openrouter/anthropic/claude-3.5-haiku             200000   0.8
        openrouter/openai/gpt-4o-mini                     128000   0.15
        openrouter/meta-llama/llama-3.3-70b-instruct:free 131072   -
        openrouter/google/gemini-2.5-flash:free           1048576  -
        openrouter/deepseek/deepseek-chat                 128000   -
        gemini/models/gemini-2.0-flash-001                1048576  0.1
        groq/llama-3.1-8b-instant                         131072   0.05
        mistral/mistral-large-latest                      128000   2
        work/gpt-4o                                       128000   -
    ";

    #[test]
    fn models_are_known_by_every_sellers_name_for_them() {
        for line in KNOWN.trim().lines() {
            let mut words = line.split_whitespace();
            let target: Target = words.next().unwrap().parse().unwrap();
            let known = known(&target.provider, &target.model);
            let (window, price) = match known {
                None => ("-".to_owned(), None),
                Some((limits, prices)) => (limits.window.to_string(), prices),
            };
            let price = price.map_or("-".to_owned(), |prices| prices.input.to_string());
            assert_eq!(words.next(), Some(window.as_str()), "{target}");
            assert_eq!(words.next(), Some(price.as_str()), "{target}");
        }
    }

    #[test]
    fn no_row_stands_behind_one_that_takes_its_models() {
        let rows: Vec<String> = MAKERS
            .iter()
            .flat_map(|maker| maker.models.iter().map(|row| plain(row.0)))
            .collect();
        for (at, row) in rows.iter().enumerate() {
            // A name that only the pattern with the star matches.
            let name = row.replace('*', "~");
            let first = rows.iter().position(|row| fits(row, &name));
            assert_eq!(first, Some(at), "{row}");
        }
        for maker in &MAKERS {
            for &(name, window, max_output, _) in maker.models {
                assert!(max_output * 2 <= window, "{name}");
            }
        }
    }
}
