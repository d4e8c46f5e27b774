//! The CSV files of an export.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use docent_files::Entity;
use docent_files::kinds::Kind;
use docent_files::names::Names;
use docent_files::table;

const DATASETS: &str = "datasets.csv";
const COLUMNS: &str = "columns.csv";

/// Both files. They get their names when they are complete.
pub(super) struct CsvFiles {
    datasets: CsvFile,
    columns: CsvFile,
}

impl CsvFiles {
    pub(super) fn create(root: &Path) -> Result<Self> {
        let mut files = Self {
            datasets: CsvFile::create(root, DATASETS)?,
            columns: CsvFile::create(root, COLUMNS)?,
        };
        files.datasets.add(table::DATASET_HEADER)?;
        files.columns.add(table::COLUMN_HEADER)?;
        Ok(files)
    }

    /// Adds a dataset with its columns.
    pub(super) fn add(
        &mut self,
        kind: &'static Kind,
        entity: &Entity,
        names: &Names,
    ) -> Result<()> {
        let row = table::dataset(kind, entity, names);
        self.datasets.add(row.iter().map(String::as_str))?;
        for row in table::columns(kind, entity, names) {
            self.columns.add(row.iter().map(String::as_str))?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        self.datasets.finish()?;
        self.columns.finish()
    }
}

struct CsvFile {
    file: BufWriter<File>,
    temporary: PathBuf,
    target: PathBuf,
}

impl CsvFile {
    fn create(root: &Path, name: &str) -> Result<Self> {
        let temporary = root.join(format!(".docent-{name}"));
        let file = File::create(&temporary);
        let file = file.with_context(|| format!("cannot create {}", temporary.display()))?;
        Ok(Self {
            file: BufWriter::new(file),
            temporary,
            target: root.join(name),
        })
    }

    fn add<'c>(&mut self, cells: impl IntoIterator<Item = &'c str>) -> Result<()> {
        let written = self.file.write_all(table::line(cells).as_bytes());
        written.with_context(|| format!("cannot write {}", self.temporary.display()))
    }

    fn finish(mut self) -> Result<()> {
        let cannot = || format!("cannot write {}", self.target.display());
        self.file.flush().with_context(cannot)?;
        std::fs::rename(&self.temporary, &self.target).with_context(cannot)
    }
}
