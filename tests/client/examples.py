"""Entities used by several tests; each test provides its own names."""

from datahub.metadata.schema_classes import (
    AuditStampClass,
    NumberTypeClass,
    OtherSchemaClass,
    SchemaFieldClass,
    SchemaFieldDataTypeClass,
    SchemaMetadataClass,
    StringTypeClass,
)

USERS_CREATED = "table containing all the users created on a single day"


def schema(name: str, *columns: str) -> SchemaMetadataClass:
    """Returns a schema with text columns, except for names that end in `_id`."""
    fields = []
    for column in columns:
        kind = NumberTypeClass() if column.endswith("_id") else StringTypeClass()
        fields.append(
            SchemaFieldClass(
                fieldPath=column,
                type=SchemaFieldDataTypeClass(type=kind),
                nativeDataType="bigint" if column.endswith("_id") else "text",
            )
        )
    stamp = AuditStampClass(time=0, actor="urn:li:corpuser:ingestion")
    return SchemaMetadataClass(
        schemaName=name,
        platform="urn:li:dataPlatform:hive",
        version=0,
        hash="",
        platformSchema=OtherSchemaClass(rawSchema=""),
        fields=fields,
        created=stamp,
        lastModified=stamp,
    )
