//! Parameters of policies: each row of POLICIES declares its own, with the papers' values as
//! defaults; the configuration, `baton policies` and the simulator read the same declaration.

use crate::Class;
use core::fmt;
use core::time::Duration;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// A number.
    Real(f64),
    /// A span of time.
    Span(Duration),
    /// One word of a closed set.
    Word(&'static str),
    /// Derive it from each server's capacity.
    Auto,
    /// Server names for each class, for static partitioning; empty means "measure".
    Partition(Vec<(Class, Vec<Box<str>>)>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Real(real) => write!(f, "{real}"),
            Self::Span(span) => write!(f, "{span:?}"),
            Self::Word(word) => f.write_str(word),
            Self::Auto => f.write_str("auto"),
            Self::Partition(parts) if parts.is_empty() => f.write_str("measured"),
            Self::Partition(parts) => write!(f, "{} classes", parts.len()),
        }
    }
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number within bounds, both included.
    Count {
        /** Least. */
        min: u64,
        /** Greatest. */
        max: u64,
    },
    /// The same, or `auto`.
    CountOrAuto {
        /** Least. */
        min: u64,
        /** Greatest. */
        max: u64,
    },
    /// A number within bounds, both included.
    Real {
        /** Least. */
        min: f64,
        /** Greatest. */
        max: f64,
    },
    /// A span of time, not zero.
    Span,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Server names by class.
    Partition,
}

/// One parameter of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name in the configuration.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Its value when nothing is said.
    pub default: fn() -> Value,
    /// Meaning, unit, and the source of the default.
    pub about: &'static str,
}

/// The parameters of one policy, complete and within bounds.
#[derive(Clone, Debug)]
pub struct Params {
    declared: &'static [Param],
    values: Vec<Value>,
}

/// Why a parameter was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// The policy has no such parameter; these are its own.
    Unknown(Vec<&'static str>),
    /// The value is not of the declared kind; this says what is.
    Invalid(String),
}

impl Params {
    /// The defaults of a declaration.
    pub fn new(declared: &'static [Param]) -> Self {
        Self { declared, values: declared.iter().map(|param| (param.default)()).collect() }
    }

    /// What is declared, in order, with the present values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Param, &Value)> {
        self.declared.iter().zip(&self.values)
    }

    /// Sets one parameter.
    ///
    /// # Errors
    /// When there is no such parameter, or the value is not of its kind.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), ParamError> {
        let Some(index) = self.declared.iter().position(|param| param.name == name) else {
            return Err(ParamError::Unknown(self.declared.iter().map(|p| p.name).collect()));
        };
        self.values[index] = self.declared[index].kind.accept(value)?;
        Ok(())
    }

    /// A `Count` parameter; `None` when it is `auto`.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            Value::Count(count) => Some(*count),
            Value::Auto => None,
            other => unreachable!("{name} is declared a count, not {other}"),
        }
    }

    /// A `Real` parameter.
    pub(crate) fn real(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Real(real) => *real,
            other => unreachable!("{name} is declared a real, not {other}"),
        }
    }

    /// A `Span` parameter.
    pub(crate) fn span(&self, name: &str) -> Duration {
        match self.value(name) {
            Value::Span(span) => *span,
            other => unreachable!("{name} is declared a span, not {other}"),
        }
    }

    /// A `Word` parameter.
    pub(crate) fn word(&self, name: &str) -> &'static str {
        match self.value(name) {
            Value::Word(word) => word,
            other => unreachable!("{name} is declared a word, not {other}"),
        }
    }

    /// A `Partition` parameter.
    pub(crate) fn partition(&self, name: &str) -> &[(Class, Vec<Box<str>>)] {
        match self.value(name) {
            Value::Partition(parts) => parts,
            other => unreachable!("{name} is declared a partition, not {other}"),
        }
    }

    fn value(&self, name: &str) -> &Value {
        let index = self.declared.iter().position(|param| param.name == name);
        &self.values[index.expect("a policy reads only what it declares")]
    }
}

impl Kind {
    /// What a value of this kind looks like, for error messages and help.
    pub fn describe(&self) -> String {
        match self {
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::CountOrAuto { min, max } => {
                format!("a whole number from {min} to {max}, or \"auto\"")
            }
            Self::Real { min, max } => format!("a number from {min} to {max}"),
            Self::Span => "a span of time above zero, such as \"20s\"".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Partition => "server names by class".to_owned(),
        }
    }

    fn accept(&self, value: Value) -> Result<Value, ParamError> {
        let value = match (self, value) {
            (Self::Real { .. }, Value::Count(count)) => Value::Real(count as f64),
            (_, value) => value,
        };
        let fits = match (self, &value) {
            (Self::Count { min, max } | Self::CountOrAuto { min, max }, Value::Count(count)) => {
                (min..=max).contains(&count)
            }
            (Self::CountOrAuto { .. }, Value::Auto) => true,
            (Self::Real { min, max }, Value::Real(real)) => (min..=max).contains(&real),
            (Self::Span, Value::Span(span)) => !span.is_zero(),
            (Self::Word(words), Value::Word(word)) => words.contains(word),
            (Self::Partition, Value::Partition(_)) => true,
            _ => false,
        };
        if fits { Ok(value) } else { Err(ParamError::Invalid(self.describe())) }
    }
}
