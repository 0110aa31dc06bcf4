//! A log of the user's own, streamed, over nodes with a CPU, a disk and a cache: "what if".
