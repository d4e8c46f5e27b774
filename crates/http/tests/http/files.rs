//! Uploads of files, which need an object store that the server does not have.

use crate::support::{App, DATASET, token_of};

#[tokio::test]
async fn uploads_are_rejected_with_the_reason_after_the_rights_are_checked() {
    let app = App::with_dataset().await;
    let upload = |members: &str| {
        format!(
            r#"{{ getPresignedUploadUrl(input: {{ fileName: "a.png", {members} }}) {{ url }} }}"#
        )
    };
    let create = |members: &str| {
        format!(
            r#"mutation {{ createDataHubFile(input: {{ id: "a", storageKey: "k", originalFileName: "a.png",
                mimeType: "image/png", sizeInBytes: 1, {members} }}) {{ file {{ urn }} }} }}"#
        )
    };
    let asset = format!(r#"assetUrn: "{DATASET}""#);
    let links = format!("scenario: ASSET_DOCUMENTATION_LINKS, {asset}");
    let asset = format!("scenario: ASSET_DOCUMENTATION, {asset}");
    let column = format!(r#"{asset}, schemaFieldUrn: "urn:li:schemaField:({DATASET},user_name)""#);
    let of_file = format!(r#"scenario: ASSET_DOCUMENTATION, referencedByAsset: "{DATASET}""#);
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
    for operation in [
        upload(&asset),
        upload(&links),
        upload(&column),
        create(&of_file),
    ] {
        let (code, message) = app.graphql_error(&operation).await;
        assert_eq!(code, 400, "{message}");
        assert!(message.contains("not configured"), "{message}");
        let reply = app.graphql_as(&reader, &operation).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    }
    let nothing = "scenario: ASSET_DOCUMENTATION";
    for operation in [upload(nothing), create(nothing)] {
        let (code, message) = app.graphql_error(&operation).await;
        assert_eq!(code, 400, "{message}");
        assert!(message.contains("the asset is missing"), "{message}");
    }
}
