//! Verifies token signatures with `ring`.
//!
//! The JWT library needs a cryptography provider. `ring` is already a dependency, for TLS. The
//! providers that come with the library are a C library that is built from source, and an RSA
//! implementation with a known weakness (RUSTSEC-2023-0071). This provider supports only public
//! keys, and refuses algorithms with a shared secret.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwkUtils, JwtSigner, JwtVerifier};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature as with;

/// Installs `ring` as the provider of the JWT library, once.
pub(super) fn install() {
    static PROVIDER: CryptoProvider = CryptoProvider {
        signer_factory: no_signer,
        verifier_factory: verifier,
        jwk_utils: JwkUtils::new_unimplemented(),
    };
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if PROVIDER.install_default().is_err() {
            tracing::debug!("another JWT provider is already installed and is used instead");
        }
    });
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the library asks for it")]
fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(ErrorKind::InvalidAlgorithm.into())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the library asks for it")]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let method = verification_method(*algorithm).ok_or(ErrorKind::InvalidAlgorithm)?;
    let family = match method {
        VerificationMethod::Rsa(_) => AlgorithmFamily::Rsa,
        VerificationMethod::Other(_) if *algorithm == Algorithm::EdDSA => AlgorithmFamily::Ed,
        VerificationMethod::Other(_) => AlgorithmFamily::Ec,
    };
    if key.family() != family {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(RingVerifier {
        algorithm: *algorithm,
        method,
        key: key.clone(),
    }))
}

enum VerificationMethod {
    Rsa(&'static with::RsaParameters),
    Other(&'static dyn with::VerificationAlgorithm),
}

fn verification_method(algorithm: Algorithm) -> Option<VerificationMethod> {
    Some(match algorithm {
        Algorithm::RS256 => VerificationMethod::Rsa(&with::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => VerificationMethod::Rsa(&with::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => VerificationMethod::Rsa(&with::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => VerificationMethod::Rsa(&with::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => VerificationMethod::Rsa(&with::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => VerificationMethod::Rsa(&with::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => VerificationMethod::Other(&with::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => VerificationMethod::Other(&with::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => VerificationMethod::Other(&with::ED25519),
        Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => return None,
    })
}

struct RingVerifier {
    algorithm: Algorithm,
    method: VerificationMethod,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = match (&self.method, self.key.kind()) {
            (VerificationMethod::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                with::RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (VerificationMethod::Other(algorithm), DecodingKeyKind::SecretOrDer(key)) => {
                with::UnparsedPublicKey::new(*algorithm, key).verify(message, signature)
            }
            _ => Err(ring::error::Unspecified),
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
