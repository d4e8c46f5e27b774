//! The directory of the index, which does not sync files to the disk.
//!
//! The index is a cache: the store has everything that a power failure may take from it. A killed
//! process loses nothing that it wrote, and files that a power failure left incomplete fail their
//! checksums, which are verified when the index is opened or soon after ([`crate::index`]). So
//! neither a commit of about twenty small files nor the search that waits for it depends on the
//! disk.
//!
//! The files are memory-mapped, and truncating a mapped file kills the process. Files are written
//! once and then read-only. Replacing one creates another file, which is harmless.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

#[derive(Debug, Clone)]
pub(crate) struct CacheDirectory {
    mapped: MmapDirectory,
    path: PathBuf,
}

impl CacheDirectory {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self {
            mapped: MmapDirectory::open(path)?,
            path: path.to_owned(),
        })
    }
}

impl Directory for CacheDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o400)
            .open(self.path.join(path))
            .map_err(|error| {
                if error.kind() == io::ErrorKind::AlreadyExists {
                    OpenWriteError::FileAlreadyExists(path.to_owned())
                } else {
                    OpenWriteError::wrap_io_error(error, path.to_owned())
                }
            })?;
        Ok(BufWriter::new(Box::new(Unsynced(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let whole = self.path.join(path);
        let mut name = whole.clone().into_os_string();
        name.push(".new");
        fs::write(&name, data)?;
        fs::rename(&name, whole)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

struct Unsynced(File);

impl Write for Unsynced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for Unsynced {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}
