//! What an origin answers on its own paths.

use crate::conn::Wants;
use crate::origin::Origin;
use crate::requests::{self, Own};
use crate::status;
use crate::usage::COLUMNS;

impl Origin {
    /// What one of the origin's own paths answers.
    pub(crate) fn own(&mut self, own: Own<'_>) -> Wants {
        match own {
            Own::Status => json(&status::report(self)),
            Own::Load => json(&status::load(self)),
            Own::Utilisation("format=csv") => {
                Wants::Text(200, "text/csv", format!("{COLUMNS}\n{}", self.usage.csv()))
            }
            Own::Utilisation("" | "format=json") => {
                let config = &self.config;
                json(&self.usage.json(config.sample, config.time_scale, config.real.is_some()))
            }
            Own::Utilisation(_) => requests::text(400, "the format is neither json nor csv"),
            Own::Health if self.faults.down => requests::text(503, "down"),
            Own::Health => requests::text(200, "up"),
            Own::Unknown => requests::text(404, "no such path under /.origin/"),
            Own::SetHealth(_) | Own::SetFault(_) if !self.config.faults => {
                requests::text(403, "this origin was not started with faults")
            }
            Own::SetHealth(query) => outcome(self.faults.set_health(query)),
            Own::SetFault(query) => outcome(self.faults.set(query)),
        }
    }
}

fn json(value: &serde_json::Value) -> Wants {
    Wants::Text(200, "application/json", format!("{value}\n"))
}

fn outcome(done: Result<(), &'static str>) -> Wants {
    match done {
        Ok(()) => requests::text(200, "done"),
        Err(why) => requests::text(400, why),
    }
}
