//! Payments and shops.

use super::{Kind, keyed, token};

pub(super) const KINDS: &[Kind] = &[
    token("stripe-secret", "STRIPE_SECRET_KEY", "sk_live_@{alnum:24}"),
    token(
        "stripe-long-secret",
        "STRIPE_SECRET_KEY",
        "sk_live_51@{alnum:97}",
    ),
    token(
        "stripe-restricted",
        "STRIPE_RESTRICTED_KEY",
        "rk_live_51@{alnum:97}",
    ),
    token(
        "stripe-webhook",
        "STRIPE_WEBHOOK_SECRET",
        "whsec_@{alnum:32}",
    ),
    token("square-access", "SQUARE_ACCESS_TOKEN", "EAAA@{url:60}"),
    token("square-secret", "SQUARE_CLIENT_SECRET", "sq0csp-@{url:43}"),
    keyed("paypal-secret", "PAYPAL_CLIENT_SECRET", "E@{url:79}"),
    token(
        "braintree-token",
        "BRAINTREE_ACCESS_TOKEN",
        "access_token$production$@{lower:16}$@{hex:32}",
    ),
    token("shopify-token", "SHOPIFY_ACCESS_TOKEN", "shpat_@{hex:32}"),
    token("shopify-secret", "SHOPIFY_API_SECRET", "shpss_@{hex:32}"),
    keyed("plaid-secret", "PLAID_SECRET", "@{hex:30}"),
    token("flutterwave-key", "FLW_SECRET_KEY", "FLWSECK-@{hex:32}-X"),
];
