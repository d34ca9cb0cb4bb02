//! Operations, monitoring, identity and work tools.

use super::checked::{base64_url, grafana};
use super::{Form, Kind, Recipe, keyed, kind, token};
use crate::secrets::encoding::base64;

pub(super) const KINDS: &[Kind] = &[
    token("vault-token", "VAULT_TOKEN", "hvs.CAES@{url:91}"),
    token("vault-batch-token", "VAULT_TOKEN", "hvb.AAAA@{url:138-160}"),
    token(
        "terraform-token",
        "TF_TOKEN_APP_TERRAFORM_IO",
        "@{alnum:14}.atlasv1.@{alnum:67}",
    ),
    token("databricks-token", "DATABRICKS_TOKEN", "dapi@{hex:32}"),
    keyed("datadog-api-key", "DD_API_KEY", "@{hex:32}"),
    keyed("datadog-app-key", "DD_APPLICATION_KEY", "@{hex:40}"),
    token(
        "new-relic-user-key",
        "NEW_RELIC_API_KEY",
        "NRAK-@{upper:27}",
    ),
    keyed(
        "new-relic-license",
        "NEW_RELIC_LICENSE_KEY",
        "@{hex:36}NRAL",
    ),
    kind(
        "grafana-token",
        "GRAFANA_TOKEN",
        Form::Token,
        Recipe::Made(grafana),
    ),
    kind(
        "sentry-org-token",
        "SENTRY_AUTH_TOKEN",
        Form::Token,
        Recipe::Made(|r| {
            let claims = r.fill(
                "{\"iat\":17@{digits:8}.@{digits:6},\"url\":\"https://sentry.io\",\"region_url\":\
             \"https://us.sentry.io\",\"org\":\"@{word}-@{word}\"}",
            );
            format!("sntrys_{}_{}", base64(&claims), r.fill("@{b64:43}"))
        }),
    ),
    token("sentry-user-token", "SENTRY_AUTH_TOKEN", "sntryu_@{hex:64}"),
    keyed("pagerduty-key", "PAGERDUTY_API_KEY", "u+@{url:18}"),
    token(
        "dynatrace-token",
        "DT_API_TOKEN",
        "dt0c01.@{BASE32:24}.@{BASE32:64}",
    ),
    token("postman-key", "POSTMAN_API_KEY", "PMAK-@{hex:24}-@{hex:34}"),
    token("linear-key", "LINEAR_API_KEY", "lin_api_@{alnum:40}"),
    token("notion-secret", "NOTION_TOKEN", "secret_@{alnum:43}"),
    token(
        "notion-token",
        "NOTION_TOKEN",
        "ntn_@{digits:11}@{alnum:35}",
    ),
    token(
        "airtable-token",
        "AIRTABLE_TOKEN",
        "pat@{alnum:14}.@{hex:64}",
    ),
    token("figma-token", "FIGMA_TOKEN", "figd_@{url:40}"),
    keyed("okta-token", "OKTA_API_TOKEN", "00@{url:40}"),
    keyed("auth0-secret", "AUTH0_CLIENT_SECRET", "@{url:64}"),
    token(
        "contentful-token",
        "CONTENTFUL_MANAGEMENT_TOKEN",
        "CFPAT-@{url:43}",
    ),
    token(
        "tailscale-key",
        "TS_AUTHKEY",
        "tskey-auth-k@{base58:10}CNTRL-@{base58:32}",
    ),
    token("hubspot-token", "HUBSPOT_TOKEN", "pat-@{na1|eu1}-@{uuid}"),
    token("prefect-key", "PREFECT_API_KEY", "pnu_@{alnum:36}"),
    token("doppler-token", "DOPPLER_TOKEN", "dp.pt.@{alnum:43}"),
    token("easypost-key", "EASYPOST_API_KEY", "EZAK@{alnum:54}"),
    keyed("launchdarkly-key", "LAUNCHDARKLY_SDK_KEY", "sdk-@{uuid}"),
    kind(
        "mapbox-secret",
        "MAPBOX_SECRET_TOKEN",
        Form::Token,
        Recipe::Made(|r| {
            let claims = r.fill("{\"u\":\"@{name}\",\"a\":\"c@{lower:24}\"}");
            format!("sk.{}.{}", base64_url(&claims), r.fill("@{url:22}"))
        }),
    ),
];
