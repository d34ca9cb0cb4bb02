//! Settings of the tenants of a gateway over HTTP (`[tenants]`). All builds read them, so that they can
//! share a file.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use spillgate_artifact::Principal;

use crate::config_file::Places;
use crate::failure::Failure;
use crate::quantities::{Size, Span};

/// Settings of the tenants.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantSettings {
    /// Whether each principal has a store of its own.
    pub(crate) enabled: bool,
    /// Maximum bytes of each principal's store, such as "2 GiB"; by default `quota`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quota: Option<Size>,
    /// How long an output is kept after its last use, such as "30d"; by default `max_age`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_age: Option<Span>,
    /// Maximum requests of each principal in a minute; by default no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requests_per_minute: Option<NonZeroU32>,
    /// Maximum sessions of each principal at the same time; by default a quarter of `http.max_sessions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_sessions: Option<NonZeroU32>,
    /// Other limits for principals, by their names.
    pub(crate) named: BTreeMap<String, TenantLimits>,
}

/// Limits of a principal. What is not set is as for all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantLimits {
    /// Maximum bytes of its store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quota: Option<Size>,
    /// How long an output is kept after its last use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_age: Option<Span>,
    /// Maximum requests in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requests_per_minute: Option<NonZeroU32>,
    /// Maximum sessions at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_sessions: Option<NonZeroU32>,
}

impl TenantSettings {
    /// Returns the limits of a principal; of one without a name in the settings, for `None`.
    pub(crate) fn limits(&self, principal: Option<&Principal>) -> TenantLimits {
        let named = principal.and_then(|principal| self.named.get(principal.name()));
        let named = named.cloned().unwrap_or_default();
        TenantLimits {
            quota: named.quota.or_else(|| self.quota.clone()),
            max_age: named.max_age.or_else(|| self.max_age.clone()),
            requests_per_minute: named.requests_per_minute.or(self.requests_per_minute),
            max_sessions: named.max_sessions.or(self.max_sessions),
        }
    }

    /// Returns the principals that the settings name.
    pub(crate) fn principals(&self) -> impl Iterator<Item = Principal> {
        self.named.keys().filter_map(|name| name.parse().ok())
    }

    /// Checks the names.
    pub(crate) fn check(&self, places: &Places) -> Result<(), Failure> {
        for name in self.named.keys() {
            if let Err(error) = name.parse::<Principal>() {
                let hint = "write the name of a token, or the subject of an access token";
                let key = ["tenants", "named", name.as_str()];
                return Err(places.wrong(&key, &format!("is no principal: {error}"), hint));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_principal_has_of_its_own_comes_first() {
        let settings: TenantSettings = serde_json::from_value(serde_json::json!({
            "enabled": true, "quota": "2 GiB", "requests_per_minute": 60,
            "named": {"alice": {"quota": "1 MiB", "max_age": "1d"}},
        }))
        .unwrap();
        let limits = |name: &str| {
            let limits = settings.limits(Some(&name.parse().unwrap()));
            let days = limits.max_age.and_then(|age| age.time);
            (
                limits.quota.and_then(|quota| quota.bytes),
                days.map(|time| time.as_secs() / 86_400),
                limits.requests_per_minute.map(NonZeroU32::get),
            )
        };
        assert_eq!(limits("alice"), (Some(1 << 20), Some(1), Some(60)));
        assert_eq!(limits("bob"), (Some(2 << 30), None, Some(60)));
        assert_eq!(settings.principals().count(), 1);
    }
}
