//! Programs as processes: started until they say that they are ready, and ended with their test.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// A process, killed when dropped.
pub struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Running {
    /// Starts it and waits until it says `ready` on standard error.
    ///
    /// # Errors
    /// All that it said, when it ends before.
    pub fn start(mut command: Command, ready: &str) -> Result<Self, String> {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut before = String::new();
        while !before.contains(ready) {
            let Some(Ok(line)) = lines.next() else {
                let _ended = child.wait();
                return Err(before);
            };
            before += &(line + "\n");
        }
        let said = Arc::new(Mutex::new(before));
        let more = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *more.lock().unwrap_or_else(PoisonError::into_inner) += &(line + "\n");
            }
        });
        Ok(Self { child, said })
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Waits until it has ended.
    pub fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// What it has said so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}
