//! What benchmarks of whole programs have in common: programs beside us, the machine, the middle of
//! some numbers, the words of a load. Each of them has this as a module.

pub mod child;
pub mod haproxy;
pub mod machine;
mod spread;
mod summary;
mod template;

pub use spread::Spread;
pub use summary::Summary;
pub use template::{Variant, fill, text};
