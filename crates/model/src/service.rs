//! What a request of each class asks of a server beyond sending its bytes.

use crate::cost::{CIPHER_KIB, LIGHT_CACHEABLE, LIGHT_CPU};
use crate::cost::{PROGRAM_CPU, PROGRAM_DISK_CPU, QUERY_ACCESS, QUERY_ACCESSES, RSA, times};
use core::time::Duration;
use policy::{Class, Dice};

/// The demands of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// CPU for each request, hit or miss, beyond [`crate::CpuCost::request`].
    pub cpu: Duration,
    /// CPU for each started KB of the answer.
    pub cpu_kib: Duration,
    /// Disk, unless the cache has the answer, beyond reading the target.
    pub disk: Duration,
    /// Whether an answer that is not in the cache is read from the disk as a file is. False for
    /// answers that are computed.
    pub reads: bool,
    /// The probability, drawn for each request, that the cache may give and keep the answer.
    pub cacheable: f64,
    /// CPU once for a session, before its first answer. A node knows no sessions: whoever drives it
    /// adds this to [`crate::Handling::before`] of the request that begins one.
    pub handshake: Duration,
}

impl Service {
    /// A file.
    pub const STATIC: Self = Self {
        cpu: Duration::ZERO,
        cpu_kib: Duration::ZERO,
        disk: Duration::ZERO,
        reads: true,
        cacheable: 1.0,
        handshake: Duration::ZERO,
    };
    /// A file that is filled in by a little computation, and mostly in vain cached.
    pub const LIGHT: Self = Self { cpu: LIGHT_CPU, cacheable: LIGHT_CACHEABLE, ..Self::STATIC };
    /// A file sent over a secure connection that is new: one key exchange, then cipher and digest.
    pub const CPU: Self = Self { cpu: RSA, cpu_kib: CIPHER_KIB, ..Self::STATIC };
    /// A database query: its accesses to the disk, and nothing for the cache.
    pub const DISK: Self =
        Self { cpu: LIGHT_CPU, disk: QUERY, reads: false, cacheable: 0.0, ..Self::STATIC };
    /// A database query over a secure connection.
    pub const CPU_DISK: Self = Self {
        cpu: Duration::from_nanos((RSA.as_nanos() + LIGHT_CPU.as_nanos()) as u64),
        cpu_kib: CIPHER_KIB,
        ..Self::DISK
    };
    /// A program that computes: the CPU-intensive CGI of CAP's prototype, ClubWeb's heavily dynamic
    /// pages of the CPU-bound model.
    pub const PROGRAM: Self =
        Self { cpu: PROGRAM_CPU, reads: false, cacheable: 0.0, ..Self::STATIC };
    /// A program that leans on the disk: ClubWeb's heavily dynamic pages of the disk-bound model.
    pub const PROGRAM_DISK: Self = Self { cpu: PROGRAM_DISK_CPU, disk: QUERY, ..Self::PROGRAM };
    /// A program that does both: the CPU+disk CGI of CAP's prototype.
    pub const PROGRAM_BOTH: Self = Self { disk: QUERY, ..Self::PROGRAM };
    /// A file over a secure connection: the key exchange once for the session, cipher and digest
    /// for each answer.
    pub const SECURE: Self = Self { cpu_kib: CIPHER_KIB, handshake: RSA, ..Self::STATIC };
    /// A database query over a secure connection: the same, once for the session.
    pub const SECURE_QUERY: Self = Self { cpu_kib: CIPHER_KIB, handshake: RSA, ..Self::DISK };

    /// CPU before the answer is sent, for an answer of `bytes`.
    pub fn compute(&self, bytes: u64) -> Duration {
        self.cpu.saturating_add(times(self.cpu_kib, bytes.div_ceil(1024)))
    }

    /// Whether this request's answer may come from the cache. Draws only where chance decides.
    pub fn draw_cacheable(&self, dice: &mut Dice) -> bool {
        self.cacheable >= 1.0 || (self.cacheable > 0.0 && dice.unit() < self.cacheable)
    }
}

/// The disk time of a query: [`QUERY_ACCESSES`] random pages.
const QUERY: Duration =
    Duration::from_nanos(QUERY_ACCESSES as u64 * QUERY_ACCESS.as_nanos() as u64);

/// The demands of every class.
#[derive(Clone, Debug, PartialEq)]
pub struct Services(Vec<Service>);

impl Default for Services {
    /// The five fixed classes, in the order of [`Class::NAMES`].
    fn default() -> Self {
        use Service as S;
        Self(vec![S::STATIC, S::LIGHT, S::CPU, S::DISK, S::CPU_DISK])
    }
}

impl Services {
    /// The demands of `class`; those of a file for a class nobody set.
    pub fn of(&self, class: Class) -> Service {
        self.0.get(class.index()).copied().unwrap_or(Service::STATIC)
    }

    /// Sets the demands of `class`, one of the fixed ones or the user's own.
    pub fn set(&mut self, class: Class, service: Service) {
        if self.0.len() <= class.index() {
            self.0.resize(class.index() + 1, Service::STATIC);
        }
        self.0[class.index()] = service;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_decides_only_where_the_probability_says_so() {
        let mut dice = Dice::new(1);
        let mut share = |service: Service| {
            (0..10_000).filter(|_| service.draw_cacheable(&mut dice)).count() as f64 / 10_000.0
        };
        assert_eq!(share(Service::STATIC), 1.0);
        assert_eq!(share(Service::DISK), 0.0);
        assert!((share(Service::LIGHT) - 0.3).abs() < 0.02);
    }

    #[test]
    fn the_users_own_class_gets_its_row_and_an_unknown_one_is_a_file() {
        let mut services = Services::default();
        let own = Service { disk: Duration::from_millis(5), ..Service::LIGHT };
        services.set(Class(9), own);
        assert_eq!(services.of(Class(9)), own);
        assert_eq!(services.of(Class(7)), Service::STATIC);
        assert_eq!(services.of(Class(63)), Service::STATIC);
        assert_eq!(services.of(Class::CPU), Service::CPU);
    }

    #[test]
    fn secure_requests_cost_what_the_published_rates_say() {
        let ms = Service::CPU.compute(10 * 1024).as_secs_f64() * 1e3;
        // 6.65 ms for RSA, 1.75 ms for triple-DES and 0.25 ms for MD5 over 10 KB.
        assert!((ms - 8.65).abs() < 0.01, "{ms}");
    }
}
