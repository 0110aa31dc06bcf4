//! The names of classes: the five of CAP and the operator's own.

use policy::Class;

/// Longest name of a class, in bytes: it becomes a label of metrics.
const NAME_BYTES_MAX: usize = 32;

/// Names of classes; the first five are [`Class::NAMES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassNames(Vec<Box<str>>);

/// Why a list of class names was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassError {
    /// A name that is there already, fixed or own.
    #[error("class {0:?} is named twice")]
    Twice(String),
    /// A name that could not be a label of metrics.
    #[error("{0:?} is no name for a class: use 1 to 32 of a-z, 0-9, -, _ and +")]
    Name(String),
    /// More than fit.
    #[error("at most {} classes of your own are possible", Class::COUNT_MAX - Class::NAMES.len())]
    TooMany,
}

impl ClassNames {
    /// The fixed names and `own`, in this order.
    ///
    /// # Errors
    /// The index in `own` of the first name that cannot be taken, and why.
    pub fn new<S: AsRef<str>>(own: &[S]) -> Result<Self, (usize, ClassError)> {
        let mut names = Self::default();
        for (index, name) in own.iter().enumerate() {
            let name = name.as_ref();
            let error = if names.class(name).is_some() {
                ClassError::Twice(name.to_owned())
            } else if !plain(name) {
                ClassError::Name(name.to_owned())
            } else if names.0.len() == Class::COUNT_MAX {
                ClassError::TooMany
            } else {
                names.0.push(name.into());
                continue;
            };
            return Err((index, error));
        }
        Ok(names)
    }

    /// The class called `name`.
    pub fn class(&self, name: &str) -> Option<Class> {
        let index = self.0.iter().position(|own| **own == *name)?;
        u8::try_from(index).ok().map(Class)
    }

    /// What `class` is called; `"?"` for one that was never named.
    pub fn name(&self, class: Class) -> &str {
        self.0.get(class.index()).map_or("?", |name| name)
    }

    /// Every name, by class.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}

impl Default for ClassNames {
    fn default() -> Self {
        Self(Class::NAMES.iter().map(|name| Box::from(*name)).collect())
    }
}

fn plain(name: &str) -> bool {
    let allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'+')
    };
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed)
}
