//! Decides which URLs, hosts and addresses may be requested.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use crate::FetchError;

/// Maximum length of a URL, in bytes: ten times what servers commonly accept.
const LONGEST_URL: usize = 80_000;

/// Ports that browsers do not connect to, because services other than web servers would interpret
/// the request (the Fetch standard's list of bad ports).
const BAD_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// Suffixes of names that lead to this machine or its network (RFC 6761, 6762, 8375, and
/// ICANN's `internal`).
const LOCAL_ENDINGS: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];

/// IPv4 networks that are not part of the public internet: address, prefix length, description
/// (IANA's registry of special-purpose addresses).
const NETWORKS_4: [(Ipv4Addr, u32, &str); 16] = [
    (Ipv4Addr::UNSPECIFIED, 8, "this host"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a carrier's"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
    (Ipv4Addr::BROADCAST, 32, "broadcast"),
];

/// Networks within the public part of IPv6, `2000::/3`, that are not on the public internet, or
/// whose addresses contain an IPv4 address, which would have to be checked.
const NETWORKS_6: [(Ipv6Addr, u32, &str); 4] = [
    // 2001::/23 contains Teredo (2001::/32), benchmarks and ORCHID.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved"),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "documentation",
    ),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "a relay"),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        "documentation",
    ),
];

/// Describes why an address is not on the public internet. Returns `None` if the address is public.
#[must_use]
pub fn forbidden_address(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => forbidden_4(address),
        IpAddr::V6(address) => forbidden_6(address),
    }
}

fn forbidden_4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |network: Ipv4Addr, prefix: u32| {
        (address.to_bits() ^ network.to_bits())
            .checked_shr(32 - prefix)
            .unwrap_or(0)
            == 0
    };
    let found = NETWORKS_4
        .iter()
        .find(|(network, prefix, _)| within(*network, *prefix));
    found.map(|(.., what)| *what)
}

/// Describes why an IPv6 address is not public. Only `2000::/3` is assigned to the public internet.
/// All other addresses are refused, including those that are assigned later: loopback, mapped IPv4,
/// NAT64, unique local, link-local, multicast.
fn forbidden_6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return forbidden_4(mapped).or(Some("mapped IPv4"));
    }
    let within = |network: Ipv6Addr, prefix: u32| {
        (address.to_bits() ^ network.to_bits()) >> (128 - prefix) == 0
    };
    if !within(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3) {
        return Some(match address {
            Ipv6Addr::LOCALHOST => "loopback",
            Ipv6Addr::UNSPECIFIED => "unspecified",
            _ if address.is_multicast() => "multicast",
            _ if address.is_unique_local() => "private",
            _ if address.is_unicast_link_local() => "link-local",
            _ => "not public",
        });
    }
    let found = NETWORKS_6
        .iter()
        .find(|(network, prefix, _)| within(*network, *prefix));
    found.map(|(.., what)| *what)
}

/// Describes why a host is not on the public internet. Examines its name or, if the host is an
/// address, the address. A name that passes may still resolve to an address that is not public.
#[must_use]
pub fn forbidden_host(host: &str) -> Option<&'static str> {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    if let Ok(address) = host.parse() {
        return forbidden_address(address);
    }
    let name = host.to_ascii_lowercase();
    let is_local = LOCAL_ENDINGS.iter().any(|ending| {
        name.strip_suffix(ending)
            .is_some_and(|before| before.is_empty() || before.ends_with('.'))
    });
    is_local.then_some("a name of this machine or its network")
}

/// Returns `host:port` of a URL, as in the list of allowed hosts.
pub(crate) fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", host.trim_end_matches('.').to_ascii_lowercase())
}

/// Parses a URL that a model gave.
pub(crate) fn parsed(text: &str) -> Result<Url, FetchError> {
    let text = text.trim();
    if text.len() > LONGEST_URL {
        return Err(FetchError::Url("it is too long".to_owned()));
    }
    let wrong = |error: &dyn std::fmt::Display| FetchError::Url(error.to_string());
    Url::parse(text).map_err(|error| match text.contains("://") {
        true => wrong(&error),
        false => FetchError::Url("it must begin with http:// or https://".to_owned()),
    })
}

/// Checks whether a URL may be requested. Returns true if `allowed` contains its host; the
/// addresses of such a host are not checked.
pub(crate) fn checked(url: &Url, allowed: &[String]) -> Result<bool, FetchError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(FetchError::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FetchError::Login);
    }
    let place = host_and_port(url);
    if allowed
        .iter()
        .any(|allowed| allowed.eq_ignore_ascii_case(&place))
    {
        return Ok(true);
    }
    let host = url.host_str().unwrap_or_default();
    if let Some(what) = forbidden_host(host) {
        let host = host.to_owned();
        return Err(FetchError::Private { host, what });
    }
    let port = url.port_or_known_default().unwrap_or_default();
    match BAD_PORTS.contains(&port) {
        true => Err(FetchError::Port(port)),
        false => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::{checked, parsed};
    use crate::FetchError;

    /// All of these lead, or may lead, outside the public internet.
    const PRIVATE: [&str; 66] = [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://127.0.0.1./",
        "http://%31%32%37.0.0.1/",
        "http://１２７.0.0.1/",
        "http://127。0。0。1/",
        "http://127.255.255.254/",
        "http://0.0.0.0/",
        "http://0/",
        "http://0.1.2.3/",
        "http://10.0.0.1/",
        "http://10.255.255.255:8080/",
        "http://172.16.0.1/",
        "http://172.31.255.255/",
        "http://192.168.1.1/",
        "http://3232235777/",
        "http://169.254.169.254/latest/meta-data/",
        "http://0xa9fea9fe/",
        "http://2852039166/",
        "http://100.64.0.1/",
        "http://100.127.255.255/",
        "http://192.0.0.8/",
        "http://192.0.2.1/",
        "http://192.88.99.1/",
        "http://198.18.0.1/",
        "http://198.19.255.255/",
        "http://198.51.100.7/",
        "http://203.0.113.9/",
        "http://224.0.0.1/",
        "http://239.255.255.250/",
        "http://240.0.0.1/",
        "http://255.255.255.255/",
        "http://[::]/",
        "http://[::1]/",
        "http://[0:0:0:0:0:0:0:1]:8080/",
        "http://[::127.0.0.1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[::ffff:8.8.8.8]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b::8.8.8.8]/",
        "http://[64:ff9b:1::1]/",
        "http://[100::1]/",
        "http://[2001::1]/",
        "http://[2001:0:53aa:64c:0:0:0:1]/",
        "http://[2001:db8::1]/",
        "http://[2002:7f00:1::]/",
        "http://[3fff::1]/",
        "http://[fc00::1]/",
        "http://[fd12:3456::1]/",
        "http://[fe80::1]/",
        "http://[fec0::1]/",
        "http://[ff02::1]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "http://router.home.arpa/",
        "http://localhost:3000/",
    ];

    #[test]
    fn what_is_not_the_public_internet_is_refused() {
        for url in PRIVATE {
            let checked = checked(&parsed(url).unwrap(), &[]);
            assert!(
                matches!(checked, Err(FetchError::Private { .. })),
                "{url}: {checked:?}"
            );
        }
    }

    #[test]
    fn what_is_passes() {
        for url in [
            "https://example.com/",
            "http://example.com:8080/a?b#c",
            "https://8.8.8.8/",
            "http://134744072/",
            "http://100.63.255.255/",
            "http://100.128.0.1/",
            "http://172.15.0.1/",
            "http://172.32.0.1/",
            "http://169.253.0.1/",
            "http://198.20.0.1/",
            "https://[2606:4700:4700::1111]/",
            "https://[2a00:1450::1]/",
            "https://[2001:4860:4860::8888]/",
            "https://notlocalhost.com/",
            "https://internal.example.com/",
            "https://bücher.example/",
        ] {
            let checked = checked(&parsed(url).unwrap(), &[]);
            assert!(matches!(checked, Ok(false)), "{url}: {checked:?}");
        }
    }

    #[test]
    fn other_wrong_addresses_are_told() {
        let told: Vec<String> = [
            "",
            "example.com",
            "http://",
            "http://a b/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "data:text/html,hello",
            "gopher://example.com/",
            "http://user:secret@example.com/",
            "http://user@example.com/",
            "http://example.com:22/",
            "http://example.com:6667/",
            "http://127.0.0.1@example.com/",
            "http://256.256.256.256/",
            "http://[::1%25eth0]/",
        ]
        .iter()
        .map(|url| {
            let wrong = parsed(url).and_then(|url| checked(&url, &[]));
            format!("{url:?}: {}", wrong.unwrap_err())
        })
        .collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        "": The url is wrong: it must begin with http:// or https://. Give a whole URL such as https://example.com/page.
        "example.com": The url is wrong: it must begin with http:// or https://. Give a whole URL such as https://example.com/page.
        "http://": The url is wrong: empty host. Give a whole URL such as https://example.com/page.
        "http://a b/": The url is wrong: invalid international domain name. Give a whole URL such as https://example.com/page.
        "ftp://example.com/": URLs with the scheme ftp are not fetched. Give a URL that begins with http:// or https://.
        "file:///etc/passwd": URLs with the scheme file are not fetched. Give a URL that begins with http:// or https://.
        "data:text/html,hello": URLs with the scheme data are not fetched. Give a URL that begins with http:// or https://.
        "gopher://example.com/": URLs with the scheme gopher are not fetched. Give a URL that begins with http:// or https://.
        "http://user:secret@example.com/": The url contains a user name or a password. Remove them; no credentials are sent.
        "http://user@example.com/": The url contains a user name or a password. Remove them; no credentials are sent.
        "http://example.com:22/": Port 22 is not a port for web pages, so it is not used. Use another URL.
        "http://example.com:6667/": Port 6667 is not a port for web pages, so it is not used. Use another URL.
        "http://127.0.0.1@example.com/": The url contains a user name or a password. Remove them; no credentials are sent.
        "http://256.256.256.256/": The url is wrong: invalid IPv4 address. Give a whole URL such as https://example.com/page.
        "http://[::1%25eth0]/": The url is wrong: invalid IPv6 address. Give a whole URL such as https://example.com/page.
        "#);
        assert!(matches!(
            parsed(&format!("http://a/{}", "x".repeat(80_000))),
            Err(FetchError::Url(_))
        ));
    }

    #[test]
    fn a_host_that_is_allowed_is_so_at_its_port_only() {
        let allowed = ["localhost:8080".to_owned(), "[::1]:80".to_owned()];
        let passes = |url| checked(&parsed(url).unwrap(), &allowed).is_ok();
        assert!(passes("http://localhost:8080/"));
        assert!(passes("http://LOCALHOST:8080/"));
        assert!(passes("http://[::1]/"));
        assert!(!passes("http://localhost:8081/"));
        assert!(!passes("http://localhost/"));
        assert!(!passes("http://127.0.0.1:8080/"));
        assert!(!passes("https://[::1]/"));
    }
}
