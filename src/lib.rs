//! Baton, a content-aware web switch: the program beside its parts in `crates/`. It is a library
//! too so that tests and fuzz targets reach the configuration.

pub mod commands;
pub mod config;
pub mod demo;
pub mod exit;
pub mod experiments;
pub mod fidelity;
pub mod figures;
pub mod flags;
pub mod gather;
pub mod input;
pub mod limits;
pub mod loading;
pub mod logs;
pub mod oneway;
pub mod serve;
pub mod splice;
pub mod whatif;
