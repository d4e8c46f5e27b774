//! TLS for connections to the database.

use std::path::Path;
use std::sync::Arc;

use docent_store::StoreError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::settings::{Settings, Trust};

pub(crate) fn connector(settings: &Settings) -> Result<MakeRustlsConnect, StoreError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(StoreError::other)?;
    let config = match settings.trust {
        Trust::AuthorityAndName => builder
            .with_root_certificates(roots(settings.root_certificates.as_deref())?)
            .with_no_client_auth(),
        Trust::Unverified | Trust::Authority => {
            let authority = match settings.trust {
                Trust::Unverified => None,
                Trust::Authority | Trust::AuthorityAndName => {
                    let roots = Arc::new(roots(settings.root_certificates.as_deref())?);
                    let verifier =
                        WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
                    Some(verifier.build().map_err(StoreError::other)?)
                }
            };
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(IgnoreHostName {
                    authority,
                    provider,
                }))
                .with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// The certificate authorities in a file, or those of the system.
fn roots(file: Option<&Path>) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    let certificates = match file {
        Some(path) => CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| StoreError::Rejected {
                reason: format!(
                    "cannot read the certificates in {}: {error}",
                    path.display()
                ),
            })?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        return Err(StoreError::Rejected {
            reason: "found no certificate authority: set sslrootcert in the store URL to a file with certificates"
                .to_owned(),
        });
    }
    Ok(roots)
}

/// Verifies the issuer of the certificate if `authority` is set, and never the host name: libpq's
/// meaning of `verify-ca` and `require`.
#[derive(Debug)]
struct IgnoreHostName {
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for IgnoreHostName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authority) = &self.authority else {
            return Ok(ServerCertVerified::assertion());
        };
        match authority.verify_server_cert(certificate, intermediates, name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
