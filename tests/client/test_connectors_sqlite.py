"""`datahub ingest` with the source `sqlalchemy`, from a SQLite file, in repeated runs."""

import sqlite3

from recipes import STATEFUL, HumanEdits, column, columns, dataset, found, ingest

TABLES = """
    create table customers (id integer primary key, email varchar(200) not null);
    create table orders (
        id integer primary key,
        customer integer not null,
        total numeric(10, 2),
        constraint order_customer foreign key (customer) references customers (id)
    );
    create view spending as
        select c.email as email, o.total as total from orders o join customers c on c.id = o.customer;
"""


class Shop:
    """A SQLite file and the datasets that it is imported as."""

    def __init__(self, path, instance):
        self.instance = instance
        self._path = path
        self.change(TABLES)

    def change(self, statements: str) -> None:
        connection = sqlite3.connect(self._path)
        connection.executescript(statements)
        connection.close()

    def urn(self, table: str) -> str:
        return dataset("sqlite", f"{self.instance}.main.{table}")

    def settings(self, **more) -> dict:
        uri = f"sqlite:///{self._path}"
        return {"platform": "sqlite", "platform_instance": self.instance, "connect_uri": uri} | more


def test_the_tables_views_and_keys_of_a_sqlite_file_are_stored(server, run_cli, read, unique, tmp_path):
    shop = Shop(tmp_path / "shop.db", unique)
    ingest(run_cli, server, "sqlalchemy", shop.settings())

    orders, customers, spending = shop.urn("orders"), shop.urn("customers"), shop.urn("spending")
    assert read(orders, "datasetProperties")["name"] == "orders"
    assert read(orders, "subTypes") == {"typeNames": ["Table"]}
    assert read(orders, "dataPlatformInstance") == {
        "platform": "urn:li:dataPlatform:sqlite",
        "instance": f"urn:li:dataPlatformInstance:(urn:li:dataPlatform:sqlite,{unique})",
    }
    schema = read(orders, "schemaMetadata")
    assert columns(schema) == {
        "id": ("NumberType", "INTEGER"),
        "customer": ("NumberType", "INTEGER"),
        "total": ("NumberType", "NUMERIC(10, 2)"),
    }
    assert [field["nullable"] for field in schema["fields"]] == [True, False, True]
    assert [field["isPartOfKey"] for field in schema["fields"]] == [True, False, False]
    assert schema["foreignKeys"] == [
        {
            "name": "order_customer",
            "foreignDataset": customers,
            "foreignFields": [column(customers, "id")],
            "sourceFields": [column(orders, "customer")],
        }
    ]
    assert columns(read(customers, "schemaMetadata"))["email"] == ("StringType", "VARCHAR(200)")

    assert read(spending, "subTypes") == {"typeNames": ["View"]}
    assert "join customers" in read(spending, "viewProperties")["viewLogic"]
    assert read(spending, "viewProperties")["viewLanguage"] == "SQL"

    # A table is in its schema, which is in its database; both are reachable as parents.
    data = server.graphql(
        """query ($urn: String!) { dataset(urn: $urn) {
          parentContainers { count containers { properties { name } subTypes { typeNames } } }
        } }""",
        urn=orders,
    )
    parents = data["dataset"]["parentContainers"]
    assert [parent["subTypes"]["typeNames"] for parent in parents["containers"]] == [["Schema"], ["Database"]]
    assert parents["containers"][0]["properties"]["name"] == "main"


def test_missing_tables_are_soft_deleted_and_restored_and_user_edits_stay(server, run_cli, read, unique, tmp_path):
    shop = Shop(tmp_path / "shop.db", unique)
    orders, spending = shop.urn("orders"), shop.urn("spending")

    def run():
        ingest(run_cli, server, "sqlalchemy", shop.settings(stateful_ingestion=STATEFUL), pipeline=unique)

    run()
    assert found(server, unique) == {shop.urn(table) for table in ("orders", "customers", "spending")}
    edits = HumanEdits(server, orders, "total", unique)
    hidden_edits = HumanEdits(server, spending, "email", f"{unique}_view")

    shop.change("drop view spending; alter table orders add column note text")
    run()
    assert read(spending, "status") == {"removed": True}
    assert read(spending, "viewProperties") is not None, "what is hidden is not deleted"
    assert read(orders, "status") == {"removed": False}
    assert list(columns(read(orders, "schemaMetadata"))) == ["id", "customer", "total", "note"]
    assert found(server, unique) == {orders, shop.urn("customers")}
    edits.must_be_as_they_were()
    hidden_edits.must_be_as_they_were()

    shop.change("create view spending as select total as amount from orders")
    run()
    assert read(spending, "status") == {"removed": False}
    assert list(columns(read(spending, "schemaMetadata"))) == ["amount"]
    assert found(server, unique) == {orders, spending, shop.urn("customers")}
    edits.must_be_as_they_were()
    hidden_edits.must_be_as_they_were()
