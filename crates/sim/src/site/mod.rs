//! Users who come, fetch pages and think, over servers with CPU, memory, disk and network: CAP and
//! ClubWeb.
