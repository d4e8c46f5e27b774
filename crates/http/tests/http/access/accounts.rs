//! Rows about invitations and service accounts.

use super::{ADMINISTRATORS, Row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        (
            "createInviteToken",
            "(input: {}) { inviteToken }".to_owned(),
            ADMINISTRATORS,
        ),
        (
            "revokeInviteToken",
            r#"(urn: "urn:li:inviteToken:none")"#.to_owned(),
            ADMINISTRATORS,
        ),
        (
            "createNativeUserResetToken",
            r#"(input: { userUrn: "urn:li:corpuser:rita" }) { resetToken }"#.to_owned(),
            ADMINISTRATORS,
        ),
        (
            "createServiceAccount",
            r#"(input: { displayName: "Nightly" }) { urn }"#.to_owned(),
            ADMINISTRATORS,
        ),
        (
            "deleteServiceAccount",
            r#"(urn: "urn:li:corpuser:service_none")"#.to_owned(),
            ADMINISTRATORS,
        ),
        (
            "updateServiceAccountDefaultView",
            r#"(input: { urn: "urn:li:corpuser:service_none" })"#.to_owned(),
            ADMINISTRATORS,
        ),
    ]
}
