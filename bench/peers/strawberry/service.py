"""A GraphQL service of the kind that people write themselves: FastAPI, strawberry and SQLAlchemy's asynchronous ORM on
PostgreSQL. Relations are loaded by data loaders, as strawberry's documentation advises, so a query of many datasets
needs one statement for each relation. The tables are in ../tables.sql.

    DATABASE_URL=postgresql+asyncpg://… uvicorn service:app
"""

import os
from collections import defaultdict
from collections.abc import Sequence

import strawberry
from fastapi import FastAPI
from sqlalchemy import ForeignKey, select
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from strawberry.dataloader import DataLoader
from strawberry.extensions import ParserCache, ValidationCache
from strawberry.fastapi import BaseContext, GraphQLRouter

engine = create_async_engine(os.environ["DATABASE_URL"], pool_size=16)
open_session = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    pass


class DomainRow(Base):
    __tablename__ = "domain"
    id: Mapped[int] = mapped_column(primary_key=True)
    urn: Mapped[str]
    name: Mapped[str]


class PersonRow(Base):
    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    urn: Mapped[str]
    name: Mapped[str]


class TagRow(Base):
    __tablename__ = "tag"
    id: Mapped[int] = mapped_column(primary_key=True)
    urn: Mapped[str]
    name: Mapped[str]


class DatasetRow(Base):
    __tablename__ = "dataset"
    id: Mapped[int] = mapped_column(primary_key=True)
    urn: Mapped[str]
    name: Mapped[str]
    description: Mapped[str | None]
    domain_id: Mapped[int | None] = mapped_column(ForeignKey("domain.id"))


class ColumnRow(Base):
    __tablename__ = "dataset_column"
    dataset_id: Mapped[int] = mapped_column(ForeignKey("dataset.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    description: Mapped[str | None]


class OwnerRow(Base):
    __tablename__ = "dataset_owner"
    dataset_id: Mapped[int] = mapped_column(ForeignKey("dataset.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)


class DatasetTagRow(Base):
    __tablename__ = "dataset_tag"
    dataset_id: Mapped[int] = mapped_column(ForeignKey("dataset.id"), primary_key=True)
    tag_id: Mapped[int] = mapped_column(ForeignKey("tag.id"), primary_key=True)


async def load_domains(ids: list[int]) -> Sequence[DomainRow | None]:
    async with open_session() as session:
        rows = await session.scalars(select(DomainRow).where(DomainRow.id.in_(ids)))
        found = {row.id: row for row in rows}
    return [found.get(id) for id in ids]


async def load_columns(datasets: list[int]) -> Sequence[list[ColumnRow]]:
    query = select(ColumnRow).where(ColumnRow.dataset_id.in_(datasets))
    found = defaultdict(list)
    async with open_session() as session:
        for row in await session.scalars(query.order_by(ColumnRow.dataset_id, ColumnRow.position)):
            found[row.dataset_id].append(row)
    return [found[dataset] for dataset in datasets]


async def load_owners(datasets: list[int]) -> Sequence[list[PersonRow]]:
    query = select(OwnerRow.dataset_id, PersonRow).join(PersonRow).where(OwnerRow.dataset_id.in_(datasets))
    found = defaultdict(list)
    async with open_session() as session:
        for dataset, person in await session.execute(query.order_by(OwnerRow.dataset_id, PersonRow.id)):
            found[dataset].append(person)
    return [found[dataset] for dataset in datasets]


async def load_tags(datasets: list[int]) -> Sequence[list[TagRow]]:
    query = select(DatasetTagRow.dataset_id, TagRow).join(TagRow).where(DatasetTagRow.dataset_id.in_(datasets))
    found = defaultdict(list)
    async with open_session() as session:
        for dataset, tag in await session.execute(query.order_by(DatasetTagRow.dataset_id, TagRow.id)):
            found[dataset].append(tag)
    return [found[dataset] for dataset in datasets]


class Context(BaseContext):
    """The data loaders of one request."""

    def __init__(self) -> None:
        super().__init__()
        self.domains = DataLoader(load_domains)
        self.columns = DataLoader(load_columns)
        self.owners = DataLoader(load_owners)
        self.tags = DataLoader(load_tags)


Info = strawberry.Info[Context, None]


@strawberry.type
class Named:
    """A domain, a person or a tag."""

    urn: str
    name: str


@strawberry.type
class Column:
    name: str
    description: str | None


@strawberry.type
class Dataset:
    row: strawberry.Private[DatasetRow]
    urn: str
    name: str
    description: str | None

    @classmethod
    def of(cls, row: DatasetRow) -> "Dataset":
        return cls(row=row, urn=row.urn, name=row.name, description=row.description)

    @strawberry.field
    async def domain(self, info: Info) -> Named | None:
        if self.row.domain_id is None:
            return None
        domain = await info.context.domains.load(self.row.domain_id)
        return domain and Named(urn=domain.urn, name=domain.name)

    @strawberry.field
    async def columns(self, info: Info) -> list[Column]:
        columns = await info.context.columns.load(self.row.id)
        return [Column(name=column.name, description=column.description) for column in columns]

    @strawberry.field
    async def owners(self, info: Info) -> list[Named]:
        owners = await info.context.owners.load(self.row.id)
        return [Named(urn=owner.urn, name=owner.name) for owner in owners]

    @strawberry.field
    async def tags(self, info: Info) -> list[Named]:
        tags = await info.context.tags.load(self.row.id)
        return [Named(urn=tag.urn, name=tag.name) for tag in tags]


@strawberry.type
class Query:
    @strawberry.field
    async def dataset(self, urn: str) -> Dataset | None:
        async with open_session() as session:
            row = await session.scalar(select(DatasetRow).where(DatasetRow.urn == urn))
        return row and Dataset.of(row)

    @strawberry.field
    async def datasets(self, urns: list[str]) -> list[Dataset | None]:
        async with open_session() as session:
            rows = await session.scalars(select(DatasetRow).where(DatasetRow.urn.in_(urns)))
            found = {row.urn: Dataset.of(row) for row in rows}
        return [found.get(urn) for urn in urns]


# Clients send few different texts, so they are parsed and validated once.
schema = strawberry.Schema(Query, extensions=[ParserCache, ValidationCache])
app = FastAPI()
app.include_router(GraphQLRouter(schema, context_getter=Context), prefix="/graphql")
