//! Control's own thread: a current-thread runtime away from the workers, so that a slow scrape or
//! a long list of decisions never delays a request.

use crate::{Admin, Supervisor};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The running control side. Ends when stopped or dropped.
#[derive(Debug)]
pub struct Control {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Starts a thread that runs the supervisor and answers on each of `admins`.
    ///
    /// # Errors
    /// When the system gives no thread or no runtime.
    pub fn start(supervisor: Arc<Supervisor>, admins: Vec<Admin>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // Names of servers are resolved on threads of their own; a few are enough.
            .max_blocking_threads(4)
            .build()?;
        let (stop, stopped) = watch::channel(false);
        let work = move || runtime.block_on(serve(supervisor, admins, stopped));
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(work)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Ends checks and admin exchanges, and waits for the thread, a few seconds at most. Unix
    /// sockets are removed.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the panic hook already.
            let _ = thread.join();
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.end();
    }
}

async fn serve(supervisor: Arc<Supervisor>, admins: Vec<Admin>, stopped: watch::Receiver<bool>) {
    let mut serving = JoinSet::new();
    for admin in admins {
        let stop = wait(stopped.clone());
        let supervisor = supervisor.clone();
        serving.spawn(async move {
            if let Err(error) = admin.serve(supervisor.clone(), stop).await {
                supervisor.note(crate::Event {
                    subject: "admin".to_owned(),
                    message: format!("the admin interface ended: {error}"),
                    ..crate::Event::default()
                });
            }
        });
    }
    tokio::select! {
        () = supervisor.run() => {}
        () = wait(stopped) => {}
    }
    while serving.join_next().await.is_some() {}
}

async fn wait(mut stopped: watch::Receiver<bool>) {
    // A sender that is gone means the same as one that says so.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
