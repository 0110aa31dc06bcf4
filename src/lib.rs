//! Baton, a content-aware web switch: what the program `baton` is made of beside its parts in
//! `crates/`. A library only so that tests and fuzz targets reach the configuration.

pub mod config;
pub mod serve;
