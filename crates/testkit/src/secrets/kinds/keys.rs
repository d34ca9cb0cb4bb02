//! Private keys and signed tokens.

use super::checked::{base64_url, in_columns};
use super::{Form, Kind, Recipe, kind, whole};
use crate::secrets::random::Random;

pub(super) const KINDS: &[Kind] = &[
    kind(
        "pem-rsa",
        "TLS_KEY",
        Form::Whole,
        Recipe::Made(|r| {
            let body = r.fill("MIIEpAIBAAKCAQEA@{bytes:1180}");
            pem("RSA PRIVATE KEY", &in_columns(&body, 64))
        }),
    ),
    kind(
        "pem-ec",
        "SIGNING_KEY",
        Form::Whole,
        Recipe::Made(|r| {
            let body = r.fill("MHcCAQEEI@{b64:43}oAoGCCqGSM49AwEHoUQDQgAE@{bytes:64}");
            pem("EC PRIVATE KEY", &in_columns(&body, 64))
        }),
    ),
    kind(
        "pem-pkcs8",
        "PRIVATE_KEY",
        Form::Whole,
        Recipe::Made(|r| pem("PRIVATE KEY", &pkcs8_body(r))),
    ),
    kind(
        "pem-openssh",
        "SSH_KEY",
        Form::Whole,
        Recipe::Made(|r| pem("OPENSSH PRIVATE KEY", &openssh_body(r))),
    ),
    kind(
        "pem-one-line",
        "SSH_PRIVATE_KEY",
        Form::Whole,
        Recipe::Made(|r| {
            let key = pem("OPENSSH PRIVATE KEY", &openssh_body(r)).replace('\n', "\\n");
            format!("SSH_HOST=git.example.com\nSSH_PRIVATE_KEY=\"{key}\\n\"")
        }),
    ),
    kind(
        "pem-in-env",
        "SSH_PRIVATE_KEY",
        Form::Whole,
        Recipe::Made(|r| {
            let key = pem("OPENSSH PRIVATE KEY", &openssh_body(r));
            format!("SSH_HOST=git.example.com\nSSH_PRIVATE_KEY=\"{key}\n\"")
        }),
    ),
    kind(
        "pgp-private",
        "GPG_KEY",
        Form::Whole,
        Recipe::Made(|r| {
            let body = in_columns(&r.fill("lQOYBG@{b64:2}@{bytes:920}"), 64);
            let check = r.fill("=@{b64:4}");
            format!(
                "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n[[{body}]]\n{check}\n-----END PGP PRIVATE KEY BLOCK-----"
            )
        }),
    ),
    whole(
        "age-key",
        "AGE_KEY",
        "# created: @{time}\n# public key: age1@{lower:58}\n[[AGE-SECRET-KEY-1@{bech32:58}]]",
    ),
    whole(
        "putty-key",
        "PPK",
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: @{word}\nPublic-Lines: 2\n\
         AAAAC3NzaC1lZDI1NTE5AAAAI@{b64:39}\n@{b64:4}\nPrivate-Lines: 1\n[[@{bytes:32}]]\nPrivate-MAC: @{hex:64}",
    ),
    whole(
        "wireguard-key",
        "WIREGUARD",
        "[Interface]\nAddress = @{ip}/24\nPrivateKey = [[@{bytes:32}]]\n\n[Peer]\nPublicKey = @{bytes:32}\n",
    ),
    whole(
        "jwk-private",
        "JWK",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"@{uuid}\",\"x\":\"@{url:43}\",\"y\":\"@{url:43}\",\
         \"d\":\"[[@{url:43}]]\"}",
    ),
    kind(
        "jwt",
        "ACCESS_TOKEN",
        Form::Token,
        Recipe::Made(|r| jwt("HS256", 43, r)),
    ),
    kind(
        "jwt-rsa",
        "ID_TOKEN",
        Form::Token,
        Recipe::Made(|r| jwt("RS256", 342, r)),
    ),
];

fn pem(label: &str, body: &str) -> String {
    format!("-----BEGIN {label}-----\n[[{body}]]\n-----END {label}-----")
}

/// Returns an RSA key of 2048 bits in the form of PKCS 8, without the first and the last line.
pub(super) fn pkcs8_body(random: &mut Random) -> String {
    let start = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQD";
    in_columns(
        &(start.to_owned() + &random.fill("@{b64:1}@{bytes:1178}")),
        64,
    )
}

fn openssh_body(random: &mut Random) -> String {
    let start =
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZWQyNTUxOQAAACA";
    in_columns(
        &(start.to_owned() + &random.fill("@{b64:1}@{bytes:229}")),
        70,
    )
}

/// Returns a signed JSON Web Token; the signature has this many letters.
fn jwt(algorithm: &str, signature: usize, random: &mut Random) -> String {
    let head = format!("{{\"alg\":\"{algorithm}\",\"typ\":\"JWT\"}}");
    let claims = random.fill(
        "{\"sub\":\"@{uuid}\",\"name\":\"@{name}\",\"iss\":\"https://@{host}\",\"iat\":17@{digits:8},\
         \"exp\":17@{digits:8},\"role\":\"@{word}\"}",
    );
    let signature = random.fill(&format!("@{{url:{signature}}}"));
    format!("{}.{}.{signature}", base64_url(&head), base64_url(&claims))
}
