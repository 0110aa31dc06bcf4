//! Documents as files, made when they are first asked for, and a file of pages for queries; read so
//! that the device has to do it.
//!
//! Reads go past the kernel's cache (`O_DIRECT`), or, on file systems that have no such reads,
//! after it was told to drop the file (`POSIX_FADV_DONTNEED`). With the kernel's cache as the
//! server's own, documents are read like any file.

use crate::content;
use policy::{Dice, TargetId};
use rustix::fs::{Advice, Mode, OFlags, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSliceMut, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What one read asks for at most, and what buffers are aligned to.
const READ_BYTES: usize = 1 << 20;
const ALIGN_BYTES: usize = 4096;

/// What a query reads with each access, as in [`model::cost::DESKSTAR_PAGE`].
const PAGE_BYTES: u64 = 8 * 1024;

/// Makes names of files that are being written differ.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// A folder of documents and a database, for one thread.
pub(crate) struct Tree {
    folder: PathBuf,
    database: File,
    pages: u64,
    /// Whether the file system reads past the kernel's cache.
    direct: bool,
    /// Whether documents are left to the kernel's cache.
    kernel: bool,
    made_bytes: u64,
    bytes_max: u64,
    buffer: Vec<u8>,
}

impl Tree {
    /// The tree below `root`, with a database of so many bytes, which is made if need be.
    pub(crate) fn open(
        root: &Path,
        database_bytes: u64,
        bytes_max: u64,
        kernel: bool,
    ) -> io::Result<Self> {
        let folder = root.join("documents");
        std::fs::create_dir_all(&folder)?;
        let pages = (database_bytes / PAGE_BYTES).max(1);
        let path = root.join("database");
        remove_left(root)?;
        let whole =
            |file: &File| file.metadata().is_ok_and(|data| data.len() == pages * PAGE_BYTES);
        if !File::open(&path).is_ok_and(|file| whole(&file)) {
            write(&path, TargetId(0), pages * PAGE_BYTES)?;
        }
        let (database, direct) = open_past_cache(&path, true)?;
        let buffer = vec![0; READ_BYTES + ALIGN_BYTES];
        let made_bytes = tidy(&folder)?;
        Ok(Self { folder, database, pages, direct, kernel, made_bytes, bytes_max, buffer })
    }

    /// Reads so many pages of the database, wherever chance says.
    pub(crate) fn query(&mut self, accesses: u32, dice: &mut Dice) -> io::Result<()> {
        for _ in 0..accesses {
            let offset = (dice.unit() * self.pages as f64) as u64 * PAGE_BYTES;
            if !self.direct {
                drop_cached(&self.database)?;
            }
            let at = aligned(&self.buffer);
            let page = &mut self.buffer[at..at + PAGE_BYTES as usize];
            self.database.read_exact_at(page, offset)?;
        }
        Ok(())
    }

    /// Makes the document's file if there is none of that length.
    ///
    /// # Errors
    /// What the file system says, or that the tree is as large as it may be.
    pub(crate) fn make(&mut self, target: TargetId, bytes: u64) -> io::Result<()> {
        let path = path(&self.folder, target);
        let before = std::fs::metadata(&path).ok().map(|data| data.len());
        if before == Some(bytes) {
            return Ok(());
        }
        let after = self.made_bytes.saturating_sub(before.unwrap_or(0)).saturating_add(bytes);
        if after > self.bytes_max {
            return Err(io::Error::other(format!(
                "{} would hold {after} bytes and may hold {}; allow more or remove it",
                self.folder.display(),
                self.bytes_max
            )));
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        write(&path, target, bytes)?;
        self.made_bytes = after;
        Ok(())
    }

    /// Reads a document that was made.
    pub(crate) fn read(&mut self, target: TargetId, bytes: u64) -> io::Result<Vec<u8>> {
        let path = path(&self.folder, target);
        let file = if self.kernel {
            File::open(&path)?
        } else {
            let (file, direct) = open_past_cache(&path, self.direct)?;
            self.direct = direct;
            file
        };
        let length = usize::try_from(bytes).map_err(io::Error::other)?;
        let mut document = Vec::with_capacity(length);
        let at = aligned(&self.buffer);
        while document.len() < length {
            let room = &mut self.buffer[at..at + READ_BYTES];
            match file.read_at(room, document.len() as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                got => {
                    let got = got.min(length - document.len());
                    document.extend_from_slice(&room[..got]);
                }
            }
        }
        Ok(document)
    }
}

/// The documents that the kernel has in its cache, read without waiting for the device.
#[derive(Clone)]
pub(crate) struct Cached {
    folder: PathBuf,
}

impl Cached {
    pub(crate) fn new(root: &Path) -> Self {
        Self { folder: root.join("documents") }
    }

    /// The document, if all of it is there.
    pub(crate) fn read(&self, target: TargetId, bytes: u64) -> Option<Vec<u8>> {
        let file = File::open(path(&self.folder, target)).ok()?;
        let mut document = vec![0; usize::try_from(bytes).ok()?];
        if file.metadata().ok()?.len() != bytes {
            return None;
        }
        let mut done = 0;
        while done < document.len() {
            let mut rest = [IoSliceMut::new(&mut document[done..])];
            match preadv2(&file, &mut rest, done as u64, ReadWriteFlags::NOWAIT) {
                Ok(got @ 1..) => done += got,
                Ok(0) | Err(_) => return None,
            }
        }
        Some(document)
    }
}

fn path(folder: &Path, target: TargetId) -> PathBuf {
    let name = format!("{:016x}", target.0);
    folder.join(&name[..2]).join(name)
}

/// Where a read may begin in a buffer.
fn aligned(buffer: &[u8]) -> usize {
    buffer.as_ptr().align_offset(ALIGN_BYTES)
}

/// Writes a file whole or not at all, to the device, and leaves nothing of it in the cache.
fn write(path: &Path, target: TargetId, bytes: u64) -> io::Result<()> {
    let (file, draft) = draft(path)?;
    let done = fill(file, target, bytes).and_then(|_file| std::fs::rename(&draft, path));
    if done.is_err() {
        // What went wrong before is what is told.
        let _ = std::fs::remove_file(&draft);
    }
    done
}

/// A file to be written in place of `path`. It is locked while it is open, which says that it is
/// being written: a process that is killed lets go of it.
fn draft(path: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_extension(format!("{}-{number}", std::process::id()));
        let file = File::create(&draft)?;
        // Where files cannot be locked, nobody removes what is left.
        let _ = file.lock();
        // Somebody may have taken it for one that was left, before it was locked.
        if file.metadata()?.nlink() > 0 {
            return Ok((file, draft));
        }
    }
}

/// Whether a file is called as a [`draft`] of this module's files.
fn is_draft(path: &Path) -> bool {
    let text = |part: Option<&OsStr>| part.and_then(OsStr::to_str).unwrap_or("").to_owned();
    let (stem, extension) = (text(path.file_stem()), text(path.extension()));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let document = stem.len() == 16 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    let numbers = extension.split_once('-');
    (document || stem == "database")
        && numbers.is_some_and(|(process, number)| digits(process) && digits(number))
}

/// Removes the drafts of a folder that nobody writes any more; the other files, drafts left out.
fn remove_left(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut others = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        if !is_draft(&path) {
            others.push(path);
        } else if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            // Removed while it is locked: see `draft`. It may have become a file just now.
            let _ = std::fs::remove_file(&path);
        }
    }
    Ok(others)
}

/// Fills a file to its length.
fn fill(mut file: File, target: TargetId, bytes: u64) -> io::Result<File> {
    let mut written = 0;
    while written < bytes {
        let slice = content::slice(target, written, bytes - written);
        file.write_all(slice)?;
        written += slice.len() as u64;
    }
    file.sync_all()?;
    drop_cached(&file)?;
    Ok(file)
}

fn drop_cached(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Opens a file to be read from the device, and says whether reads go past the cache; else it has
/// just been dropped from there.
fn open_past_cache(path: &Path, direct: bool) -> io::Result<(File, bool)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    if direct {
        match rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty()) {
            Ok(file) => return Ok((file.into(), true)),
            // The file system has no such reads.
            Err(Errno::INVAL) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    drop_cached(&file)?;
    Ok((file, false))
}

/// Removes what is left of drafts in the folders of a folder; bytes of all other files there.
fn tidy(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for inner in std::fs::read_dir(folder)? {
        let inner = inner?.path();
        if inner.is_dir() {
            for file in remove_left(&inner)? {
                bytes += std::fs::metadata(file)?.len();
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(root: &Path, bytes_max: u64, kernel: bool) -> Tree {
        Tree::open(root, 100_000, bytes_max, kernel).unwrap()
    }

    #[test]
    fn documents_have_the_content_of_their_target_whatever_their_length() {
        let root = tempfile::tempdir().expect("a folder");
        for kernel in [false, true] {
            let mut tree = tree(root.path(), 1 << 30, kernel);
            for bytes in [0, 1, 4096, 5000, READ_BYTES as u64, 3_000_001] {
                let target = TargetId(bytes * 31 + u64::from(kernel));
                tree.make(target, bytes).unwrap();
                let document = tree.read(target, bytes).unwrap();
                assert_eq!(document.len() as u64, bytes);
                assert!(content::verify(target, 0, &document), "{bytes} bytes, kernel {kernel}");
            }
        }
    }

    #[test]
    fn a_tree_that_is_as_large_as_it_may_be_says_so_and_counts_what_was_there() {
        let root = tempfile::tempdir().expect("a folder");
        tree(root.path(), 10_000, false).make(TargetId(1), 6_000).expect("made");
        let mut again = tree(root.path(), 10_000, false);
        again.make(TargetId(1), 6_000).expect("made");
        let error = again.make(TargetId(2), 6_000).unwrap_err().to_string();
        assert!(error.contains("12000 bytes and may hold 10000"), "{error}");
        again.make(TargetId(1), 9_000).unwrap();
        assert!(again.read(TargetId(2), 6_000).is_err());
    }

    #[test]
    fn the_kernels_cache_has_what_was_read_through_it() {
        let root = tempfile::tempdir().expect("a folder");
        let (mut tree, cached) = (tree(root.path(), 1 << 20, true), Cached::new(root.path()));
        assert_eq!(cached.read(TargetId(7), 9_000), None, "nobody made it");
        tree.make(TargetId(7), 9_000).unwrap();
        let document = tree.read(TargetId(7), 9_000).unwrap();
        assert_eq!(cached.read(TargetId(7), 9_000), Some(document));
        assert_eq!(cached.read(TargetId(7), 9_001), None, "another length is another document");
    }

    fn files(folder: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                names.extend(files(&path));
            } else {
                names.push(path.file_name().expect("a name").display().to_string());
            }
        }
        names.sort();
        names
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_no_draft() {
        let root = tempfile::tempdir().expect("a folder");
        let mut tree = tree(root.path(), 1 << 20, false);
        // What is to become the document is in the way.
        std::fs::create_dir_all(path(&tree.folder, TargetId(1)).join("x")).expect("made");
        assert!(tree.make(TargetId(1), 6_000).is_err());
        assert_eq!(files(root.path()), ["database"]);
    }

    #[test]
    fn drafts_that_somebody_left_are_removed_and_those_being_written_are_not() {
        let root = tempfile::tempdir().expect("a folder");
        tree(root.path(), 20_000, false).make(TargetId(1), 6_000).expect("made");
        let document = path(&root.path().join("documents"), TargetId(1));
        let left = [document.with_extension("7-0"), root.path().join("database.1-22")];
        for draft in &left {
            std::fs::write(draft, [0; 15_000]).expect("written");
        }
        // None of ours: it has another form.
        let others = ["database.old", "database.1-", "notes.1-2"];
        others
            .iter()
            .for_each(|name| std::fs::write(root.path().join(name), "x").expect("written"));
        let (file, draft) = super::draft(&document).expect("a draft");
        // What is left or not yet whole is not in the way of what may be made.
        tree(root.path(), 12_000, false).make(TargetId(2), 6_000).expect("made");
        assert_eq!(left.map(|draft| draft.exists()), [false, false]);
        assert!(draft.exists() && others.iter().all(|name| root.path().join(name).exists()));
        drop(file);
        tree(root.path(), 12_000, false);
        assert!(!draft.exists(), "its writer is gone");
        assert_eq!(files(root.path()).len(), 3 + others.len());
    }

    #[test]
    fn queries_read_whole_pages_of_a_database_that_is_made_once() {
        let root = tempfile::tempdir().expect("a folder");
        let mut dice = Dice::new(1);
        tree(root.path(), 0, false).query(100, &mut dice).unwrap();
        let path = root.path().join("database");
        let made = std::fs::metadata(&path).unwrap();
        assert_eq!(made.len(), 100_000 / PAGE_BYTES * PAGE_BYTES);
        tree(root.path(), 0, false).query(1, &mut dice).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), made.modified().unwrap());
    }
}
