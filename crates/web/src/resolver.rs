//! Resolves host names, and keeps only addresses that may be requested.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::forbidden_address;

/// Resolves names through the system and returns only permitted addresses. The client connects to
/// these addresses and resolves nothing itself, so a name cannot resolve to another address after
/// the check.
#[derive(Debug, Clone)]
pub(crate) struct Resolver {
    /// Host names with their addresses, used instead of the system's name resolution.
    pub(crate) names: Arc<BTreeMap<String, Vec<IpAddr>>>,
    /// Whether all addresses are permitted.
    pub(crate) is_open: bool,
}

/// The error for a name that resolves only to addresses that are not permitted.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("leads to an address to which no request is sent ({0})")]
pub(crate) struct PrivateAddress(pub(crate) &'static str);

/// The error for a name without an address.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("no such name")]
pub(crate) struct NoSuchName;

type BoxError = Box<dyn Error + Send + Sync>;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let found = resolver.addresses(name.as_str()).await?;
            let found = resolver.permitted(found)?;
            let found = found.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}

impl Resolver {
    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, BoxError> {
        if let Some(known) = self.names.get(name) {
            return Ok(known.clone());
        }
        // Systems report a missing name in different ways, so all errors are treated the same.
        let found = tokio::net::lookup_host((name, 0)).await;
        let found = found.map_err(|_| NoSuchName)?;
        Ok(found.map(|address| address.ip()).collect())
    }

    fn permitted(&self, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, BoxError> {
        if self.is_open {
            return Ok(found);
        }
        let forbidden = found.first().and_then(|first| forbidden_address(*first));
        let kept = found
            .into_iter()
            .filter(|ip| forbidden_address(*ip).is_none());
        let kept: Vec<IpAddr> = kept.collect();
        match (kept.is_empty(), forbidden) {
            (false, _) => Ok(kept),
            (true, Some(what)) => Err(PrivateAddress(what).into()),
            (true, None) => Err(NoSuchName.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::IpAddr;
    use std::sync::Arc;

    use super::Resolver;

    #[test]
    fn of_a_names_addresses_only_public_ones_are_left() {
        let resolver = |is_open| Resolver {
            names: Arc::new(BTreeMap::new()),
            is_open,
        };
        let addresses = |texts: &[&str]| -> Vec<IpAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let mixed = addresses(&["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1"]);
        assert_eq!(
            resolver(false).permitted(mixed.clone()).unwrap(),
            addresses(&["8.8.8.8", "2606:4700::1"])
        );
        assert_eq!(resolver(true).permitted(mixed.clone()).unwrap(), mixed);
        let told = |texts| resolver(false).permitted(addresses(texts)).unwrap_err();
        insta::assert_snapshot!(told(&["127.0.0.1", "fe80::1"]), @"leads to an address to which no request is sent (loopback)");
        insta::assert_snapshot!(told(&[]), @"no such name");
    }
}
