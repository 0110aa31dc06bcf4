//! The thread that writes the access log. It may be slow or stuck, and its file may be full: then
//! lines are lost and counted, and requests go on.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::time::Duration;

/// Buffers of lines on their way to the thread.
const BUFFERS_MAX: usize = 64;

/// A log that is being written.
pub(crate) struct LogWriter {
    sender: SyncSender<Vec<u8>>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl LogWriter {
    /// Starts writing to `sink`; lines that cannot be written are counted in `lost`, and `tell` is
    /// told when that begins.
    pub(crate) fn start(
        sink: Box<dyn Write + Send>,
        lost: Arc<AtomicU64>,
        tell: fn(&str),
    ) -> io::Result<Self> {
        let (sender, lines) = sync_channel(BUFFERS_MAX);
        let (alive, ended) = channel();
        std::thread::Builder::new().name("baton-log".to_owned()).spawn(move || {
            write_out(&lines, sink, &lost, tell);
            drop(alive);
        })?;
        Ok(Self { sender, ended })
    }

    /// Hands lines over. False: they are dropped, because the thread cannot keep up.
    pub(crate) fn write(&self, lines: Vec<u8>) -> bool {
        self.sender.try_send(lines).is_ok()
    }

    /// Waits until everything is written, at most `patience`. False: it is stuck.
    pub(crate) fn finish(self, patience: Duration) -> bool {
        drop(self.sender);
        self.ended.recv_timeout(patience) != Err(RecvTimeoutError::Timeout)
    }
}

fn write_out(
    lines: &Receiver<Vec<u8>>,
    mut sink: Box<dyn Write + Send>,
    lost: &AtomicU64,
    tell: fn(&str),
) {
    let mut failing = false;
    while let Ok(buffer) = lines.recv() {
        let result = sink.write_all(&buffer).and_then(|()| sink.flush());
        if let Err(error) = &result {
            let count = buffer.iter().filter(|byte| **byte == b'\n').count();
            lost.fetch_add(count as u64, Ordering::Relaxed);
            // Said once, not for every line: a full disk fills no other disk with complaints.
            if !failing {
                tell(&format!("the access log cannot be written: {error}; trying on"));
            }
        }
        failing = result.is_err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Sender;

    /// Fails while it is told to.
    struct Disk {
        full: Arc<AtomicU64>,
        wrote: Sender<Vec<u8>>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.full.load(Ordering::Relaxed) > 0 {
                self.full.fetch_sub(1, Ordering::Relaxed);
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.wrote.send(bytes.to_vec()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_costs_its_lines_and_no_others() {
        let (wrote, written) = channel();
        let (full, lost) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(0)));
        let disk = Disk { full, wrote };
        let log = LogWriter::start(Box::new(disk), Arc::clone(&lost), |_| {}).unwrap();
        assert!(log.write(b"a\nb\n".to_vec()));
        assert!(log.write(b"c\n".to_vec()));
        assert!(log.finish(Duration::from_secs(10)));
        assert_eq!(written.recv().unwrap(), b"c\n");
        assert_eq!(lost.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_reader_that_never_reads_does_not_keep_the_switch_from_ending() {
        struct Stuck(Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                // Until the test is over.
                let _ = self.0.recv();
                Err(io::ErrorKind::BrokenPipe.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (_hold, held) = channel();
        let log = LogWriter::start(Box::new(Stuck(held)), Arc::default(), |_| {}).unwrap();
        assert!(log.write(b"a\n".to_vec()));
        assert!(!log.finish(Duration::from_millis(10)));
    }
}
