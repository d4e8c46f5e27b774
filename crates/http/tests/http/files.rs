//! Uploads of files, which need an object store that the server does not have.

use crate::support::{App, DATASET, token_of};

#[tokio::test]
async fn uploads_are_rejected_with_the_reason() {
    let app = App::with_dataset().await;
    let create = |members: &str| {
        format!(
            r#"mutation {{ createDataHubFile(input: {{ id: "a", storageKey: "k", originalFileName: "a.png",
                mimeType: "image/png", sizeInBytes: 1, scenario: ASSET_DOCUMENTATION {members} }}) {{ file {{ urn }} }} }}"#
        )
    };
    let of_asset = create(&format!(r#", referencedByAsset: "{DATASET}""#));
    let upload = r#"{ getPresignedUploadUrl(input: { fileName: "a.png", scenario: ASSET_DOCUMENTATION }) { url } }"#;
    for operation in [upload, &create(""), &of_asset] {
        let (code, message) = app.graphql_error(operation).await;
        assert_eq!(code, 400, "{message}");
        assert!(message.contains("not configured"), "{message}");
    }
    // Who may not describe the asset learns that.
    let rita = "urn:li:corpuser:rita";
    let reader = token_of(&app.catalog, rita, None).await;
    app.catalog
        .assign_role(
            &docent_catalog::Caller::system(),
            &[docent_model::Urn::parse(rita).unwrap()],
            Some(&crate::support::role("Reader")),
        )
        .await
        .unwrap();
    let reply = app.graphql_as(&reader, &of_asset).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
}
