//! What is known of a bed beside what it is made of: a folder for each under `/run`, with its plan
//! and its maker. It is the first thing of a bed that is made and the last that is removed, so
//! whatever else there is can be found by it.

use crate::processes::Process;
use crate::{Error, Plan};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the folders are.
const ROOT: &str = "/run/baton-testbed";

/// The file in a bed's folder.
const FILE: &str = "bed.json";

/// What is written down.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    /// What it was to be.
    pub plan: Plan,
    /// Who makes or made it.
    pub maker: Process,
    /// Whether it is all there.
    pub ready: bool,
    /// Whether it stays when its maker ends.
    pub standing: bool,
}

impl State {
    /// Of a bed that is begun by this process.
    pub fn begun(plan: &Plan) -> Self {
        let plan = plan.clone();
        Self { plan, maker: Process::own(), ready: false, standing: false }
    }

    /// Whether nobody wants the bed any more: its maker died before its end.
    pub fn is_abandoned(&self) -> bool {
        !self.standing && !self.maker.lives()
    }

    /// Writes it down, at once or not at all.
    pub fn write(&self) -> Result<(), Error> {
        let folder = folder(&self.plan.name);
        let text = serde_json::to_vec_pretty(self).expect("a state has no odd keys");
        let new = folder.join("bed.json.new");
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, folder.join(FILE)))
            .map_err(Error::system(format!("write {}", folder.display())))
    }
}

/// A bed's folder.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(ROOT).join(name)
}

/// Makes a bed's folder: whoever does so has the name.
pub(crate) fn claim(plan: &Plan) -> Result<(), Error> {
    let doing = || format!("make {}", folder(&plan.name).display());
    fs::create_dir_all(ROOT).map_err(Error::system(doing()))?;
    match fs::create_dir(folder(&plan.name)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::Exists(plan.name.clone()))
        }
        made => made.map_err(Error::system(doing())),
    }?;
    State::begun(plan).write()
}

/// What is written down of a bed. `None`: no such bed, or its maker died within its first moment.
pub(crate) fn read(name: &str) -> Option<State> {
    serde_json::from_slice(&fs::read(folder(name).join(FILE)).ok()?).ok()
}

/// The names of all beds that have a folder.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(ROOT).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
