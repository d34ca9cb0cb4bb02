//! Private keys and signed tokens.

use super::checked::{base64_url, in_columns, random_base64};
use super::{Form, Kind, Recipe, kind, token, whole};
use crate::secrets::random::Random;

pub(super) const KINDS: &[Kind] = &[
    kind(
        "pem-rsa",
        "TLS_KEY",
        Form::Whole,
        Recipe::Made(|r| {
            let body = body("MIIEpAIBAAKCAQEA", 1180, 64, r);
            pem("RSA PRIVATE KEY", &body)
        }),
    ),
    kind(
        "pem-ec",
        "SIGNING_KEY",
        Form::Whole,
        Recipe::Made(|r| {
            let body = r.fill("MHcCAQEEI@{b64:43}oAoGCCqGSM49AwEHoUQDQgAE@{b64:86}==");
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
            let body = in_columns(&r.fill("lQOYBG@{b64:1200}"), 64);
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
    kind(
        "putty-key",
        "PPK",
        Form::Whole,
        Recipe::Made(|r| {
            let public = in_columns(&random_base64(51, r), 64);
            let private = random_base64(32, r);
            let mac = r.fill("@{hex:64}");
            format!(
                "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: deploy\nPublic-Lines: 2\n\
             {public}\nPrivate-Lines: 1\n[[{private}]]\nPrivate-MAC: {mac}"
            )
        }),
    ),
    kind(
        "wireguard-key",
        "WIREGUARD",
        Form::Whole,
        Recipe::Made(|r| {
            let (private, public) = (random_base64(32, r), random_base64(32, r));
            let address = r.fill("Address = @{ip}/24");
            format!(
                "[Interface]\n{address}\nPrivateKey = [[{private}]]\n\n[Peer]\nPublicKey = {public}\n"
            )
        }),
    ),
    kind(
        "jwk-private",
        "JWK",
        Form::Whole,
        Recipe::Made(|r| {
            r.fill(
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"@{uuid}\",\"x\":\"@{url:43}\",\"y\":\"@{url:43}\",\
             \"d\":\"[[@{url:43}]]\"}",
        )
        }),
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
    token(
        "facebook-token",
        "FACEBOOK_ACCESS_TOKEN",
        "EAACEdEose0cBA@{alnum:160-180}",
    ),
];

fn pem(label: &str, body: &str) -> String {
    format!("-----BEGIN {label}-----\n[[{body}]]\n-----END {label}-----")
}

/// Returns lines of base64 that start with the fixed bytes of a format.
fn body(start: &str, letters: usize, columns: usize, random: &mut Random) -> String {
    let letters = random.fill(&format!("{start}@{{b64:{letters}}}"));
    in_columns(&letters, columns)
}

/// Returns an RSA key of 2048 bits in the form of PKCS 8, without the first and the last line.
pub(super) fn pkcs8_body(random: &mut Random) -> String {
    body(
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ",
        1570,
        64,
        random,
    )
}

fn openssh_body(random: &mut Random) -> String {
    let start =
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZWQyNTUxOQAAACA";
    body(start, 260, 70, random)
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
