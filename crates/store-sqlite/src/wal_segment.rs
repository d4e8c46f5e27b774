//! Segments of the write-ahead log, which bring a backup forward to a later time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use docent_model::EpochMillis;
use docent_store::StoreError;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::error::file_error;

const START: &[u8] = b"docent WAL segment 1\n";

/// Where SQLite's file has the size of its pages.
const PAGE_SIZE_OFFSET: u64 = 16;

/// A place in the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalPosition {
    /// They change whenever SQLite starts the log from its beginning.
    pub(crate) salts: [u8; 8],
    pub(crate) frames: u32,
}

/// What the commits between two positions changed: each page as the last of them left it.
///
/// A segment can be applied to the state at any time between its two positions, so a backup that
/// was begun before or while the commits were made needs no exact match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalSegment {
    pub(crate) since: WalPosition,
    pub(crate) until: WalPosition,
    pub(crate) until_ms: EpochMillis,
    pub(crate) page_bytes: u32,
    pub(crate) database_pages: u32,
    pub(crate) pages: BTreeMap<u32, Vec<u8>>,
}

impl WalSegment {
    pub fn until(&self) -> WalPosition {
        self.until
    }

    /// No commit after this time is in the segment.
    pub fn until_ms(&self) -> EpochMillis {
        self.until_ms
    }

    /// Whether no commit is missing between a position and this segment. The first segment of a
    /// process begins with the log, of which an earlier process may have copied a part.
    pub fn follows(&self, earlier: WalPosition) -> bool {
        let overlaps = earlier.salts == self.since.salts
            && (self.since.frames..=self.until.frames).contains(&earlier.frames);
        let continues_there = self.since.salts == self.until.salts;
        self.since == earlier || (overlaps && continues_there)
    }

    /// How much memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.values().map(Vec::len).sum()
    }

    /// Compresses the segment. The result has a checksum.
    pub fn encode(&self) -> io::Result<Vec<u8>> {
        let mut file = GzEncoder::new(Vec::new(), Compression::fast());
        file.write_all(START)?;
        for position in [self.since, self.until] {
            file.write_all(&position.salts)?;
            file.write_all(&position.frames.to_be_bytes())?;
        }
        file.write_all(&self.until_ms.to_be_bytes())?;
        let count = u32::try_from(self.pages.len()).map_err(io::Error::other)?;
        for number in [self.page_bytes, self.database_pages, count] {
            file.write_all(&number.to_be_bytes())?;
        }
        for (number, page) in &self.pages {
            file.write_all(&number.to_be_bytes())?;
            file.write_all(page)?;
        }
        file.finish()
    }

    pub fn decode(bytes: &[u8]) -> io::Result<Self> {
        let mut file = GzDecoder::new(bytes);
        if read_array::<{ START.len() }>(&mut file)? != *START {
            return Err(invalid());
        }
        let since = read_position(&mut file)?;
        let until = read_position(&mut file)?;
        let until_ms = i64::from_be_bytes(read_array(&mut file)?);
        let page_bytes = read_u32(&mut file)?;
        let database_pages = read_u32(&mut file)?;
        let count = read_u32(&mut file)?;
        if !(512..=65536).contains(&page_bytes) {
            return Err(invalid());
        }
        let mut pages = BTreeMap::new();
        for _ in 0..count {
            let number = read_u32(&mut file)?;
            if number == 0 {
                return Err(invalid());
            }
            let mut page = vec![0; page_bytes as usize];
            file.read_exact(&mut page)?;
            pages.insert(number, page);
        }
        // The checksum is verified at the end.
        if file.read(&mut [0])? > 0 {
            return Err(invalid());
        }
        Ok(Self {
            since,
            until,
            until_ms,
            page_bytes,
            database_pages,
            pages,
        })
    }
}

/// Brings the copy of a database forward, which no connection has open. The segments must follow
/// the copy, and each the one before.
#[derive(Debug)]
pub struct RollForward {
    file: File,
    page_bytes: u32,
    at: Option<WalPosition>,
}

impl RollForward {
    pub fn open(copy: &Path) -> Result<Self, StoreError> {
        let failed = |error: io::Error| file_error(copy, &error);
        let file = File::options()
            .read(true)
            .write(true)
            .open(copy)
            .map_err(failed)?;
        let mut bytes = [0; 2];
        file.read_exact_at(&mut bytes, PAGE_SIZE_OFFSET)
            .map_err(failed)?;
        Ok(Self {
            file,
            page_bytes: match u16::from_be_bytes(bytes) {
                1 => 65536,
                bytes => bytes.into(),
            },
            at: None,
        })
    }

    pub fn apply(&mut self, segment: &WalSegment) -> Result<(), StoreError> {
        let is_next = self.at.is_none_or(|earlier| segment.follows(earlier));
        // A segment without a commit knows no size.
        let has_pages = !segment.pages.is_empty();
        if !is_next || (has_pages && segment.page_bytes != self.page_bytes) {
            return Err(StoreError::Rejected {
                reason: "the segment is of another database".to_owned(),
            });
        }
        self.write(segment).map_err(StoreError::other)?;
        self.at = Some(segment.until);
        Ok(())
    }

    fn write(&self, segment: &WalSegment) -> io::Result<()> {
        let page_bytes = u64::from(self.page_bytes);
        for (number, page) in &segment.pages {
            let offset = u64::from(number - 1) * page_bytes;
            self.file.write_all_at(page, offset)?;
        }
        if !segment.pages.is_empty() {
            let length = u64::from(segment.database_pages) * page_bytes;
            self.file.set_len(length)?;
        }
        Ok(())
    }

    /// Makes the copy durable.
    pub fn finish(self) -> Result<(), StoreError> {
        self.file.sync_all().map_err(StoreError::other)
    }
}

fn invalid() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "this is not a segment of the write-ahead log",
    )
}

fn read_array<const N: usize>(file: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_u32(file: &mut impl Read) -> io::Result<u32> {
    read_array(file).map(u32::from_be_bytes)
}

fn read_position(file: &mut impl Read) -> io::Result<WalPosition> {
    Ok(WalPosition {
        salts: read_array(file)?,
        frames: read_u32(file)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(lap: u8, frames: u32) -> WalPosition {
        WalPosition {
            salts: [lap; 8],
            frames,
        }
    }

    fn segment(since: WalPosition, until: WalPosition) -> WalSegment {
        WalSegment {
            since,
            until,
            until_ms: 7,
            page_bytes: 512,
            database_pages: 3,
            pages: BTreeMap::from([(1, vec![1; 512]), (3, vec![3; 512])]),
        }
    }

    #[test]
    fn an_encoded_segment_is_the_same_after_decoding_and_damage_is_noticed() {
        let segment = segment(position(1, 5), position(2, 3));
        let encoded = segment.encode().unwrap();
        assert_eq!(WalSegment::decode(&encoded).unwrap(), segment);
        for cut in 0..encoded.len() {
            WalSegment::decode(&encoded[..cut]).unwrap_err();
        }
        // The first ten bytes are the header of gzip, which has no checksum.
        for at in 10..encoded.len() {
            let mut damaged = encoded.clone();
            damaged[at] ^= 1;
            assert!(
                WalSegment::decode(&damaged).is_err_or_same(&segment),
                "{at}"
            );
        }
    }

    trait ErrOrSame {
        fn is_err_or_same(&self, segment: &WalSegment) -> bool;
    }

    impl ErrOrSame for io::Result<WalSegment> {
        fn is_err_or_same(&self, segment: &WalSegment) -> bool {
            self.as_ref().map_or(true, |it| it == segment)
        }
    }

    #[test]
    fn a_segment_follows_the_position_where_the_one_before_ended() {
        let next = segment(position(1, 5), position(1, 9));
        assert!(next.follows(position(1, 5)));
        assert!(next.follows(position(1, 7)), "copied by an earlier process");
        assert!(!next.follows(position(1, 4)), "frame 5 is missing");
        assert!(!next.follows(position(1, 10)), "this log is shorter");
        assert!(!next.follows(position(2, 5)), "another log");
        let restarted = segment(position(1, 5), position(2, 9));
        assert!(restarted.follows(position(1, 5)));
        assert!(!restarted.follows(position(1, 6)));
    }
}
